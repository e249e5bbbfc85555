"""``carrysave compare``."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter
from cyclopts.types import ExistingFile

from carrysave.api import comparison as api
from carrysave.api.design import Design
from carrysave.api.synthesis import Verilog
from carrysave.cli.libraries import target_of
from carrysave.cli.options import (
    ALL_CORES,
    Folder,
    Html,
    Json,
    Running,
    check_page,
    errors,
    output_folder,
    present,
)
from carrysave.cli.synth import (
    Clock,
    Hierarchy,
    Liberty,
    Objective,
    Operations,
    Part,
    Period,
    Seeds,
    Target,
    TimeReset,
    check_libraries,
)
from carrysave.errors import UsageError, check_positive
from carrysave.progress import Steps
from golden.check import spelled
from hw.catalog import CATALOG, nearest

__all__ = ["compare"]

_OWN = ("verilog", "clock", "operations")
"""Parameters of a module of somebody's Verilog."""


def compare(
    *designs: Annotated[
        str,
        Parameter(
            help="A design, such as `systolic_os(m=4,pe=mac)`, or a module of --verilog, such as"
            " `my_array` or `my_array(clock=clk_i,operations=128)`; the first is the reference."
        ),
    ],
    verilog: Annotated[
        list[ExistingFile] | None,
        Parameter(consume_multiple=True, help="Files with the modules that are no designs."),
    ] = None,
    clock: Clock = None,
    operations: Operations = None,
    target: Target = None,
    liberty: Liberty = None,
    period: Period = None,
    sweep: Annotated[
        bool,
        Parameter(
            show_default=False,
            help="Search recipes, periods and hierarchies for the best result of each.",
        ),
    ] = False,
    objective: Objective = "density",
    hierarchy: Hierarchy = None,
    time_reset: TimeReset = False,
    activity: Annotated[
        str | None,
        Parameter(
            help="Operands for power. [default: normal, if all are designs that can be simulated,"
            " else the same assumed activity for all]"
        ),
    ] = None,
    part: Part = None,
    seeds: Seeds = None,
    output: Folder = None,
    running: Running = ALL_CORES,
    html: Html = None,
    json_: Json = False,
) -> int:
    """Compare designs, and your own Verilog, side by side: one search, one table, one picture.

    All get the same search, built as they are named, and none a kept recipe. A module that has the
    name of a design, or files of its own, is told by them: `mac(verilog=their/mac.v)`.
    Writes JSON and a picture to `OUTPUT/compare`.

    **Examples:**

    - `carrysave compare mac opt1 'opt1(encoding=booth)' --sweep --html opt1.html`
    - `carrysave compare 'systolic_os(m=4,n=4)' my_array --verilog a.v b.v --operations 32`
    - `carrysave compare 'mac(verilog=their/mac.v,clock=ck,operations=2)' mac --liberty my.lib.gz`
    - `carrysave compare systolic_os my_array --verilog a.sv --target ecp5`
    """
    if len(designs) < 2:
        raise UsageError(f"compare needs two designs or more, not {len(designs)}")
    if len(set(designs)) < len(designs):
        raise UsageError(f"designs must differ, not {', '.join(designs)}")
    check_libraries(target, liberty)
    check_positive("--operations", operations)
    defaults = {"verilog": verilog, "clock": clock or "clk", "operations": operations}
    entrants = [_entrant(text, defaults) for text in designs]
    if verilog and all(isinstance(entrant, Design) for entrant in entrants):
        raise UsageError("--verilog needs the name of a module in it among the designs")
    folder = output_folder(output)
    check_page(html)
    where = target_of(target, liberty)
    with Steps(errors) as steps, running.session():
        found = api.compare(
            *entrants, names=designs, target=where, period_ns=period, sweep=sweep,
            objective=objective, activity=activity, part=part, seeds=seeds, hierarchy=hierarchy,
            time_reset=time_reset, progress=steps,
        )  # fmt: skip
    present(found, html, json_, folder / "compare")
    return 0


def _entrant(text: str, defaults: dict[str, Any]) -> Design | Verilog:
    """Find out what a text names."""
    found = spelled("a design", text)
    if found is None:
        raise UsageError(f"design must be like NAME or NAME(KEY=VALUE,...), not {text!r}")
    name, texts = found
    if name in CATALOG and "verilog" not in texts:
        return Design.parse(name, texts)
    if "verilog" not in texts and not defaults["verilog"]:
        raise UsageError(f"{nearest(name, CATALOG, 'design')}; a module needs --verilog")
    for key in texts:
        if key not in _OWN:
            raise UsageError(f"parameters of {name} must be {', '.join(_OWN)}, not {key!r}")
    return _of_verilog(name, texts, defaults)


def _of_verilog(name: str, texts: dict[str, str], defaults: dict[str, Any]) -> Verilog:
    operations = defaults["operations"]
    if "operations" in texts:
        try:
            operations = float(texts["operations"])
        except ValueError:
            raise UsageError(
                f"operations of {name} must be a number, not {texts['operations']!r}"
            ) from None
        check_positive(f"operations of {name}", operations)
    files: Sequence[str | Path] = defaults["verilog"] or ()
    if "verilog" in texts:
        files = texts["verilog"].split(",")
    return Verilog(files, name, texts.get("clock", defaults["clock"]), operations)
