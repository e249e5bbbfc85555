"""``carrysave verify``."""

from dataclasses import dataclass, replace
from typing import Annotated

from cyclopts import Parameter
from cyclopts.types import ExistingFile

from carrysave.api.options import VerifyOptions
from carrysave.cli.defaults import defaults
from carrysave.cli.options import BY_DEFAULT, TABLES, Choice, Name, View, check_page, errors
from carrysave.progress import Steps

__all__ = ["verify"]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class VerifyFlags(VerifyOptions):
    """Flags of a verification; defaults are those of the options."""

    seed: Annotated[int | None, Parameter(help="Seed of the stimulus; random by default.")]
    waves: Annotated[bool, Parameter(show_default=False, help="Record waves (VCD).")]
    netlist: Annotated[
        str | None,
        Parameter(help="Run on the netlist synthesised for: osu018 or a Liberty file."),
    ]
    verilog: Annotated[
        ExistingFile | None,
        Parameter(help="Run on this Verilog in place of ours: same module, same ports."),
    ]
    simulator: Annotated[str, Parameter(help="verilator, or icarus: slow, knows x.")]
    test: Annotated[str | None, Parameter(help="Run this test alone, by its name in the results.")]
    transactions: Annotated[
        int | None,
        Parameter(help="With --test: let it send this many at most, as a reduced failure does."),
    ]
    show_failure: Annotated[bool, Parameter(parse=False)]


_FLAGS = defaults(VerifyFlags)


def verify(
    design: Name = None,
    /,
    *,
    choice: Choice = BY_DEFAULT,
    options: VerifyFlags = _FLAGS,
    view: View = TABLES,
) -> int:
    """Run a design's cocotb regression against its numpy twin, on Verilator.

    Each run has its own folder in `OUTPUT/runs`, with JUnit XML, log and waves. With --html, the
    first test that fails runs once more alone, for its waves, unless --waves has them.

    **Examples:**

    - `carrysave verify opt1 --seed 7`
    - `carrysave verify systolic_os -p m=4 -p n=4 --netlist osu018`
    """
    chosen, folder = choice.choose(design)
    check_page(view.html, charts=False)
    options = replace(options, show_failure=view.html is not None)
    with Steps(errors) as steps:
        result = chosen.verify(options, folder=folder, progress=steps)
    view.present(result)
    return 0 if result.ok else 1
