"""``carrysave verify``."""

from typing import Annotated

from cyclopts import Parameter
from cyclopts.types import ExistingFile

from carrysave.cli.options import (
    Config,
    Folder,
    Html,
    Json,
    Name,
    Sets,
    check_page,
    choose,
    errors,
    present,
)
from carrysave.progress import Steps

__all__ = ["verify"]


def verify(
    design: Name = None,
    /,
    *,
    parameter: Sets = None,
    output: Folder = None,
    config: Config = None,
    seed: Annotated[int | None, Parameter(help="Seed of the stimulus; random by default.")] = None,
    waves: Annotated[bool, Parameter(show_default=False, help="Record waves (VCD).")] = False,
    netlist: Annotated[
        str | None,
        Parameter(help="Run on the netlist synthesised for: osu018 or a Liberty file."),
    ] = None,
    verilog: Annotated[
        ExistingFile | None,
        Parameter(help="Run on this Verilog in place of ours: same module, same ports."),
    ] = None,
    simulator: Annotated[str, Parameter(help="verilator, or icarus: slow, knows x.")] = "verilator",
    test: Annotated[
        str | None, Parameter(help="Run this test alone, by its name in the results.")
    ] = None,
    transactions: Annotated[
        int | None,
        Parameter(help="With --test: let it send so many at most, as a reduced failure does."),
    ] = None,
    html: Html = None,
    json_: Json = False,
) -> int:
    """Run a design's cocotb regression against its numpy twin, on Verilator.

    Each run has its own folder in `OUTPUT/runs`, with JUnit XML, log and waves. With --html, the
    first test that fails runs once more alone, for its waves, unless --waves has them.

    **Examples:**

    - `carrysave verify opt1 --seed 7`
    - `carrysave verify systolic_os -p m=4 -p n=4 --netlist osu018`
    """
    chosen, folder = choose(design, parameter, output, config)
    check_page(html, charts=False)
    with Steps(errors) as steps:
        found = chosen.verify(
            seed=seed, waves=waves, netlist=netlist, verilog=verilog, simulator=simulator,
            test=test, transactions=transactions, show_failure=html is not None, folder=folder,
            progress=steps,
        )  # fmt: skip
    present(found, html, json_)
    return 0 if found.ok else 1
