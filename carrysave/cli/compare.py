"""``carrysave compare``."""

import json
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter
from cyclopts.types import ExistingFile

from carrysave.api.design import Design
from carrysave.api.device import for_device
from carrysave.asic import synthesis
from carrysave.asic.elaborate import elaborate
from carrysave.cli.libraries import target_of
from carrysave.cli.options import (
    ALL_CORES,
    Folder,
    Html,
    Json,
    Running,
    check_page,
    console,
    errors,
    output_folder,
    write_page,
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
    check_search,
)
from carrysave.errors import UsageError, check_choice, check_positive
from carrysave.fpga import implementation
from carrysave.progress import Steps
from carrysave.report.comparison import compared, write_comparison
from carrysave.report.designs import print_line
from carrysave.report.synthesis import print_synthesis
from carrysave.report.synthesis_page import compare_page
from golden.check import spelled
from hw.catalog import CATALOG, nearest

__all__ = ["compare"]

_OWN = ("verilog", "clock", "operations")
"""Parameters of a module of somebody's Verilog."""


@dataclass(frozen=True)
class Entrant:
    """One of those that are compared.

    Members
    -------
    text : as it was named.
    design : of the catalogue; None for somebody's Verilog.
    options : for :func:`carrysave.asic.synthesis.synthesise`, of Verilog.
    """

    text: str
    design: Design | None
    options: dict[str, Any]


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

    - `carrysave compare mac opt1 'opt1(encoding=ent)' --sweep --html opt1.html`
    - `carrysave compare 'systolic_os(m=4,n=4)' my_array --verilog a.v b.v --operations 32`
    - `carrysave compare 'mac(verilog=their/mac.v,clock=ck,operations=2)' mac --liberty my.lib.gz`
    - `carrysave compare systolic_os my_array --verilog a.sv --target ecp5`
    """
    if len(designs) < 2:
        raise UsageError(f"compare needs two designs or more, not {len(designs)}")
    if len(set(designs)) < len(designs):
        raise UsageError(f"designs must differ, not {', '.join(designs)}")
    check_search(
        target=target, liberty=liberty, period=period, sweep=sweep, objective=objective,
        hierarchy=hierarchy, time_reset=time_reset, part=part, seeds=seeds, operations=operations,
    )  # fmt: skip
    on_fpga = target in implementation.TARGETS
    defaults = {"verilog": verilog, "clock": clock or "clk", "operations": operations}
    entrants = [_entrant(text, defaults, target if on_fpga else None) for text in designs]
    if verilog and not any(entrant.design is None for entrant in entrants):
        raise UsageError("--verilog needs the name of a module in it among the designs")
    own = [entrant.design for entrant in entrants if entrant.design is not None]
    if activity is not None:
        check_choice("--activity", activity, synthesis.ACTIVITIES)
    if on_fpga and activity is not None:
        raise UsageError("--activity is for cell libraries")
    if activity is None:
        measured = len(own) == len(entrants) and not on_fpga
        kinds = {synthesis.default_activity(design) for design in own} if measured else set()
        activity = "normal" if kinds == {"normal"} else "assumed"
    elif activity not in ("none", "assumed") and len(own) < len(entrants):
        raise UsageError("--activity must be none or assumed for Verilog of no design")
    folder = output_folder(output)
    check_page(html)
    where = target_of(target, liberty)
    for entrant in entrants:  # what is wrong with it shows before the long work
        if entrant.design is not None:
            entrant.design.component()
        elif not on_fpga:
            top = entrant.options["top"]
            read = elaborate([Path(file) for file in entrant.options["verilog"]], top)
            synthesis.clock_of(read, entrant.options["clock"])
    results = []
    with Steps(errors) as steps, running.session():
        steps.plan(len(entrants))
        for entrant in entrants:
            steps.step(f"synthesise {entrant.text}")
            options: dict[str, Any] = {
                "period_ns": period, "sweep": sweep, "objective": objective,
                "hierarchy": hierarchy, "time_reset": time_reset, "part": part,
                "seeds": seeds or 3, "progress": steps.note,
            }  # fmt: skip
            if not on_fpga:
                options["activity"] = activity
            if entrant.design is None:
                found = synthesis.synthesise(target=where, **entrant.options, **options)
            else:
                found = synthesis.synthesise_design(entrant.design, where, **options)
            results.append(found)
    record = compared(designs, results, shlex.join(["carrysave", *sys.argv[1:]]))
    record["files"] = write_comparison(folder / "compare", record)
    record["files"] = write_page(html, compare_page, record)
    if json_:
        print(json.dumps(record, indent=2))
        return 0
    print_synthesis(console, results, designs)
    for line in (*record["notes"], *(f"wrote {file}" for file in record["files"])):
        print_line(console, line)
    return 0


def _entrant(text: str, defaults: dict[str, Any], device: str | None) -> Entrant:
    """Find out what a text names."""
    found = spelled("a design", text)
    if found is None:
        raise UsageError(f"design must be like NAME or NAME(KEY=VALUE,...), not {text!r}")
    name, texts = found
    if name in CATALOG and "verilog" not in texts:
        design = Design.parse(name, texts)
        return Entrant(text, for_device(device, design) if device else design, {})
    if "verilog" not in texts and not defaults["verilog"]:
        raise UsageError(f"{nearest(name, CATALOG, 'design')}; a module needs --verilog")
    for key in texts:
        if key not in _OWN:
            raise UsageError(f"parameters of {name} must be {', '.join(_OWN)}, not {key!r}")
    return Entrant(text, None, {"top": name, **_of_verilog(name, texts, defaults)})


def _of_verilog(name: str, texts: dict[str, str], defaults: dict[str, Any]) -> dict[str, Any]:
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
    return {
        "verilog": files, "clock": texts.get("clock", defaults["clock"]),
        "operations_per_cycle": operations,
    }  # fmt: skip
