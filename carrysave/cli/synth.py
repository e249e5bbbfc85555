"""``carrysave synth``."""

import json
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from cyclopts.types import ExistingFile

from carrysave.api.device import for_device
from carrysave.asic import synthesis
from carrysave.asic.power.stimulus import UNMEASURED, Stimulus
from carrysave.asic.recipes import PROJECT, USER
from carrysave.cli.libraries import target_of
from carrysave.cli.options import (
    ALL_CORES,
    Config,
    Folder,
    Html,
    Json,
    Name,
    Running,
    Sets,
    check_page,
    choose,
    console,
    errors,
    output_folder,
    read_settings,
    settings,
    write_page,
)
from carrysave.errors import UsageError, check_choice, check_positive, needs
from carrysave.fpga import implementation
from carrysave.progress import Steps
from carrysave.report.synthesis import print_synthesis, write_synthesis
from carrysave.report.synthesis_page import synthesis_page
from hw.catalog import Design

if TYPE_CHECKING:
    from carrysave.asic.liberty.cells import Library
    from carrysave.asic.placement.technology import Technology

__all__ = ["synthesise"]

Target = Annotated[
    str | None,
    Parameter(
        help=f"One of {', '.join(synthesis.TARGETS)}. [default: osu018 if it is installed, else"
        " generic: gate equivalents and FO4, no technology]"
    ),
]
Liberty = Annotated[
    list[ExistingFile] | None,
    Parameter(
        help="Cell library, .lib or .lib.gz; repeatable, for its corners: the first is mapped to"
        " and measured for power, the slowest sets the period. [default: `library` of"
        " carrysave.toml]",
    ),
]
Period = Annotated[float | None, Parameter(help="Target clock period, ns.")]
Sweep = Annotated[
    bool,
    Parameter(
        show_default=False,
        help="Search recipes, periods and hierarchies for the best result, and ways to build a"
        " design that no parameter says.",
    ),
]
Objective = Annotated[
    str,
    Parameter(
        help=f"Objective of --sweep: {', '.join(synthesis.OBJECTIVES)}; energy is the least for"
        " --period, with or without --sweep."
    ),
]
SearchRecipes = Annotated[
    int | None,
    Parameter(
        help="After a sweep, which this asks for too, search for so many recipes: sequences of"
        " passes of ABC. The best is kept in the cache, and used afterwards."
    ),
]
Part = Annotated[
    str | None,
    Parameter(help="FPGA to place on, such as iCE40UP5K-SG48. [default: the first that fits]"),
]
Seeds = Annotated[
    int | None,
    Parameter(help="Runs of place and route, for the median Fmax. [default: 3]"),
]
Hierarchy = Annotated[
    str | None,
    Parameter(
        help="Repeated modules to map once, instead of in place: where it pays (auto), large"
        " ones only (coarse: slower, smaller area), none (flat). [default: auto; with --sweep,"
        " the best of them]"
    ),
]
TimeReset = Annotated[
    bool,
    Parameter(
        show_default=False,
        help="Time resets, too, and buffer asynchronous ones; they are ideal by default.",
    ),
]
Clock = Annotated[str | None, Parameter(help="Clock port of --verilog. [default: clk]")]
Operations = Annotated[float | None, Parameter(help="Operations per cycle of --verilog, for GOPS.")]


def check_search(
    *,
    target: str | None,
    liberty: Sequence[Path] | None,
    period: float | None,
    sweep: bool,
    objective: str,
    hierarchy: str | None,
    time_reset: bool,
    part: str | None,
    seeds: int | None,
    operations: float | None,
) -> None:
    """Refuse options of a synthesis that are out of range, or exclude each other."""
    check_positive("--period", period, " ns")
    check_positive("--operations", operations)
    if objective == "energy" and period is None:
        raise UsageError("--objective energy needs --period: the least energy of all that meet it")
    if period is not None and sweep and objective != "energy":
        raise UsageError("--period and --sweep exclude each other, but for --objective energy")
    if target is not None and liberty is not None:
        raise UsageError("--target and --liberty exclude each other")
    if target is not None:
        check_choice("--target", target, synthesis.TARGETS)
    on_fpga = target in implementation.TARGETS
    if on_fpga and (period is not None or sweep or hierarchy is not None or time_reset):
        raise UsageError(
            "--period, --sweep, --hierarchy and --time-reset are for cell libraries, not for"
            f" {target}"
        )
    if not on_fpga and (part is not None or seeds is not None):
        raise UsageError(f"--part and --seeds need --target {'|'.join(implementation.TARGETS)}")
    if seeds is not None and not 1 <= seeds <= implementation.MOST_SEEDS:
        raise UsageError(f"--seeds must be 1 to {implementation.MOST_SEEDS}, not {seeds}")
    if part is not None:
        implementation.part_of(str(target), part)
    if hierarchy is not None:
        check_choice("--hierarchy", hierarchy, synthesis.HIERARCHIES)
    check_choice("--objective", objective, synthesis.OBJECTIVES)


def check_recipes(count: int | None, objective: str) -> None:
    """Refuse a search of recipes that is out of range, or for an objective that has none."""
    if count is None:
        return
    if not 1 <= count <= synthesis.MOST_TRIALS:
        raise UsageError(f"--search-recipes must be 1 to {synthesis.MOST_TRIALS}, not {count}")
    if objective == "energy":
        raise UsageError("--search-recipes is for density, period and area, not for energy")


def check_wires(sizes: Mapping[str, float | None], place: bool) -> None:
    """Refuse sizes of wires, by their options, that are out of range or not asked for."""
    for (option, size), unit in zip(sizes.items(), (" fF/um", " ohm/um", " um"), strict=True):
        check_positive(option, size, unit)
        if size is not None and not place:
            raise UsageError(f"{option} needs --place")


def check_place(place: bool, target: str | None) -> None:
    """Refuse to place what is not of a cell library, and without a placer."""
    if place and target in implementation.TARGETS:
        raise UsageError(
            f"--place is for cell libraries; {target} is placed where that is possible"
        )
    if place:
        needs("coloquinte")


def technology_of(
    where: "Library | str", sizes: Mapping[str, float | None], lef: Sequence[Path]
) -> "Technology":
    """Return the wires of a library, but for what is given."""
    from carrysave.asic.placement.lef import read_lef
    from carrysave.asic.placement.technology import technology

    library = synthesis.LIBRARIES[where]() if isinstance(where, str) else where
    try:
        capacitance, resistance, height = sizes.values()
        found = read_lef(lef) if lef else None
        return technology(library, capacitance, resistance, height, found)
    except ValueError as error:
        raise UsageError(str(error)) from None


def synthesise(
    design: Name = None,
    /,
    *,
    parameter: Sets = None,
    output: Folder = None,
    config: Config = None,
    target: Target = None,
    liberty: Liberty = None,
    period: Period = None,
    sweep: Sweep = False,
    search_recipes: SearchRecipes = None,
    objective: Objective = "density",
    activity: Annotated[
        str | None,
        Parameter(
            help=f"Operands for power: {', '.join(synthesis.ACTIVITIES)}; for lanes with formats,"
            " such as normal:int8,e4m3. [default: normal]"
        ),
    ] = None,
    part: Part = None,
    seeds: Seeds = None,
    hierarchy: Hierarchy = None,
    time_reset: TimeReset = False,
    place: Annotated[
        bool,
        Parameter(
            show_default=False,
            help="Place on a cell library, buffer and size by the wires, and measure with them;"
            " with --sweep, the best few points.",
        ),
    ] = False,
    wire_cap: Annotated[
        float | None, Parameter(help="Capacitance of wires, fF/um. [default: the library's]")
    ] = None,
    wire_res: Annotated[
        float | None, Parameter(help="Resistance of wires, ohm/um. [default: the library's]")
    ] = None,
    row_height: Annotated[
        float | None, Parameter(help="Height of a row of cells, um. [default: the library's]")
    ] = None,
    lef: Annotated[
        list[ExistingFile] | None,
        Parameter(
            help="LEF of a technology or its cells, for what is not given of wires and rows;"
            " repeatable."
        ),
    ] = None,
    verilog: Annotated[
        list[ExistingFile] | None,
        Parameter(consume_multiple=True, help="Synthesise these files instead."),
    ] = None,
    top: Annotated[str | None, Parameter(help="Top module of --verilog.")] = None,
    clock: Clock = None,
    operations: Operations = None,
    running: Running = ALL_CORES,
    html: Html = None,
    json_: Json = False,
) -> int:
    """Synthesise a design, or your own Verilog, and report area, timing and power.

    Cell libraries: Yosys, ABC and OpenSTA; with --place Coloquinte, buffers and sizes by the wires,
    and all figures with them, too. FPGAs: Yosys, and nextpnr for ecp5, ice40, gowin and nexus; a
    design of the catalogue is then built for the target, unless `-p target=...` says otherwise.
    Results are cached by content. Where a search's best recipe is kept in the project, it is used,
    and the report says so.

    **Examples:**

    - `carrysave synth opt1 --sweep --html opt1.html`
    - `carrysave synth opt1 --search-recipes 200`
    - `carrysave synth systolic_os --liberty sky130_fd_sc_hd__tt_025C_1v80.lib --place`
    - `carrysave synth systolic_os --liberty my.lib.gz --period 2.5`
    - `carrysave synth opt1 --liberty my.lib.gz --period 2.5 --objective energy --sweep`
    - `carrysave synth opt1 --liberty typical.lib --liberty slow.lib`
    - `carrysave synth systolic_os -p pe=mac -p encoding=operator -p adder=operator --target ecp5`
    - `carrysave synth --verilog a.sv --top a --target ice40 --part iCE40UP5K-SG48 --seeds 5`
    - `carrysave synth --verilog a.v b.v --top a --clock clk_i --operations 2`
    """
    check_recipes(search_recipes, objective)
    sweep = sweep or search_recipes is not None
    check_search(
        target=target, liberty=liberty, period=period, sweep=sweep, objective=objective,
        hierarchy=hierarchy, time_reset=time_reset, part=part, seeds=seeds, operations=operations,
    )  # fmt: skip
    on_fpga = target in implementation.TARGETS
    sizes = {"--wire-cap": wire_cap, "--wire-res": wire_res, "--row-height": row_height}
    check_wires(sizes, place)
    check_place(place, target)
    if lef and not place:
        raise UsageError("--lef needs --place")
    if activity is not None and (verilog or on_fpga):
        raise UsageError("--activity is for designs of the catalogue on a cell library")
    if verilog:
        if design is not None or parameter or config is not None or top is None:
            raise UsageError("--verilog needs --top, and no design, parameters or --config")
        what, folder = top, output_folder(output)
    else:
        if not (top is None and clock is None and operations is None):
            raise UsageError("--top, --clock and --operations need --verilog")
        chosen, folder = choose(design, parameter, output, config)
        if on_fpga:
            chosen = for_device(str(target), chosen, Steps(errors).note)
        what = chosen.module
        if activity not in (None, *UNMEASURED):
            Stimulus.parse(chosen, activity)
    where = target_of(target, liberty, config)
    technology = technology_of(where, sizes, lef or ()) if place else None
    check_page(html)
    with Steps(errors) as steps, running.session():
        steps.step(f"synthesise {what}")
        options: dict[str, Any] = {
            "period_ns": period,
            "sweep": sweep,
            "more_recipes": search_recipes or 0,
            "objective": objective,
            "hierarchy": hierarchy,
            "time_reset": time_reset,
            "place": place or None,
            "technology": technology,
            "part": part,
            "seeds": seeds or 3,
            "progress": steps.note,
        }
        if verilog:
            result = synthesis.synthesise(
                verilog,
                top=what,
                target=where,
                clock=clock or "clk",
                operations_per_cycle=operations,
                **options,
            )
        else:
            result = synthesis.synthesise_design(
                chosen,
                where,
                activity=activity,
                from_kept=() if sweep else (PROJECT, USER),
                hows=_free(chosen, parameter, config) if sweep else (),
                **options,
            )
    result["command"] = shlex.join(["carrysave", *sys.argv[1:]])
    result["files"] = write_synthesis(folder / "synth", result)
    result["files"] = write_page(html, synthesis_page, result)
    if json_:
        print(json.dumps(result, indent=2))
    else:
        print_synthesis(console, [result])
    return 0


def _free(design: Design, sets: Sequence[str] | None, config: Path | None) -> list[str]:
    """Return the parameters that a search may change: those that the user has not set."""
    told = settings(sets)
    if config is not None:
        told |= read_settings(config).get("parameters", {})
    return [name for name in synthesis.searched(design) if name not in told]
