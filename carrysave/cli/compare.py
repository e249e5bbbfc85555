"""``carrysave compare``."""

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Annotated

from cyclopts import Parameter
from cyclopts.types import ExistingFile

from carrysave.api import comparison as api
from carrysave.api.design import Design
from carrysave.api.synthesis import Verilog
from carrysave.cli.defaults import defaults
from carrysave.cli.flags import Clock, CompareFlags, Liberty, Operations, Target, check_libraries
from carrysave.cli.libraries import target_of
from carrysave.cli.options import (
    ALL_CORES,
    TABLES,
    Folder,
    Running,
    View,
    check_page,
    errors,
    output_folder,
)
from carrysave.errors import UsageError, check_positive
from carrysave.progress import Steps
from golden.check import spelled
from hw.catalog import CATALOG
from hw.unknown import nearest

__all__ = ["compare"]

_PARAMETERS = ("verilog", "clock", "operations")
"""Of a module of somebody's Verilog."""
_FLAGS = defaults(CompareFlags)


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class VerilogFlags:
    """Flags of the modules that are no designs."""

    verilog: Annotated[
        list[ExistingFile] | None,
        Parameter(consume_multiple=True, help="Files with the modules that are no designs."),
    ] = None
    clock: Clock = None
    operations: Operations = None


_NO_FILES = VerilogFlags()


def compare(
    *designs: Annotated[
        str,
        Parameter(
            help="A design, such as `systolic_os(m=4,pe=mac)`, or a module of --verilog, such as"
            " `my_array` or `my_array(clock=clk_i,operations=128)`; the first is the reference."
        ),
    ],
    verilog: VerilogFlags = _NO_FILES,
    target: Target = None,
    liberty: Liberty = None,
    options: CompareFlags = _FLAGS,
    output: Folder = None,
    running: Running = ALL_CORES,
    view: View = TABLES,
) -> int:
    """Compare designs, and your own Verilog, side by side: one search, one table, one picture.

    All get the same search, built as they are named, and no stored recipe. A module that has the
    name of a design, or files of its own, is given by them: `mac(verilog=their/mac.v)`.
    `--period` and `--memory` ask which is the best under these: exit code 1 if none meets them.
    Writes JSON and a picture to `OUTPUT/compare`.

    **Examples:**

    - `carrysave compare mac opt1 'opt1(encoding=booth)' --sweep --html opt1.html`
    - `carrysave compare 'systolic_os(m=4,n=4)' my_array --verilog a.v b.v --operations 32`
    - `carrysave compare 'mac(verilog=their/mac.v,clock=ck,operations=2)' mac --liberty my.lib.gz`
    - `carrysave compare systolic_os my_array --verilog a.sv --target ecp5`
    - `carrysave compare systolic_os systolic_ws matrix_2d --period 2 --memory 0.8GB/s`
    """
    if len(designs) < 2:
        raise UsageError(f"compare needs two designs or more, not {len(designs)}")
    if len(set(designs)) < len(designs):
        raise UsageError(f"designs must differ, not {', '.join(designs)}")
    check_libraries(target, liberty)
    check_positive("operations", verilog.operations)
    entrants = [_entrant(text, verilog) for text in designs]
    if verilog.verilog and all(isinstance(entrant, Design) for entrant in entrants):
        raise UsageError("--verilog needs the name of a module in it among the designs")
    folder = output_folder(output)
    check_page(view.html)
    where = target_of(target, liberty)
    with Steps(errors) as steps, running.session():
        result = api.compare(
            *entrants, names=designs, target=where, options=options, progress=steps
        )
    view.present(result, folder / "compare")
    return 0 if result.ok else 1


def _entrant(text: str, flags: VerilogFlags) -> Design | Verilog:
    """Find out what a text names."""
    parts = spelled("a design", text)
    if parts is None:
        raise UsageError(f"design must be like NAME or NAME(KEY=VALUE,...), not {text!r}")
    name, texts = parts
    if name in CATALOG and "verilog" not in texts:
        return Design.parse(name, texts)
    if "verilog" not in texts and not flags.verilog:
        raise UsageError(f"{nearest(name, CATALOG, 'design')}; a module needs --verilog")
    for key in texts:
        if key not in _PARAMETERS:
            raise UsageError(f"parameters of {name} must be {', '.join(_PARAMETERS)}, not {key!r}")
    return _of_verilog(name, texts, flags)


def _of_verilog(name: str, texts: dict[str, str], flags: VerilogFlags) -> Verilog:
    operations = flags.operations
    if "operations" in texts:
        try:
            operations = float(texts["operations"])
        except ValueError:
            raise UsageError(
                f"operations of {name} must be a number, not {texts['operations']!r}"
            ) from None
        check_positive(f"operations of {name}", operations)
    files: Sequence[str | PathLike[str]] = flags.verilog or ()
    if "verilog" in texts:
        files = texts["verilog"].split(",")
    return Verilog(files, name, texts.get("clock", flags.clock or "clk"), operations)
