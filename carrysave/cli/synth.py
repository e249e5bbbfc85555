"""``carrysave synth``."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from cyclopts.types import ExistingFile

from carrysave.api import synthesis as api
from carrysave.api.design import Design
from carrysave.api.synthesis import Verilog
from carrysave.asic import synthesis
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
    errors,
    output_folder,
    present,
    settings,
)
from carrysave.errors import UsageError, check_choice, check_positive
from carrysave.progress import Steps

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
Recipe = Annotated[
    str | None,
    Parameter(
        help="Run this recipe alone, as a report names it: front end, mapping, and adders and sizes"
        " if there are some, such as tree+wide+sizes@density."
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


def check_libraries(target: str | None, liberty: Sequence[Path] | None) -> None:
    """Refuse two ways to say what is synthesised for, and what is no name of a target."""
    if target is not None and liberty is not None:
        raise UsageError("--target and --liberty exclude each other")
    if target is not None:
        check_choice("--target", target, synthesis.TARGETS)


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
    recipe: Recipe = None,
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
    top_parameter: Annotated[
        list[str] | None,
        Parameter(
            name=["--top-parameter", "-P"],
            negative=(),
            consume_multiple=False,
            help="NAME=NUMBER, a parameter of the top module of --verilog; may be given again.",
        ),
    ] = None,
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
    check_libraries(target, liberty)
    what: Design | Verilog
    if verilog:
        if design is not None or parameter or config is not None or top is None:
            raise UsageError("--verilog needs --top, and no design, parameters or --config")
        check_positive("--operations", operations)
        own = settings(top_parameter, "-P")
        what = Verilog(verilog, top, clock or "clk", operations, own)
        folder = output_folder(output)
    else:
        if not (top is None and clock is None and operations is None and not top_parameter):
            raise UsageError("--top, -P, --clock and --operations need --verilog")
        what, folder = choose(design, parameter, output, config)
    where = target_of(target, liberty, config)
    check_page(html)
    with Steps(errors) as steps, running.session():
        found = api.synthesise(
            what, where, period_ns=period, sweep=sweep, search_recipes=search_recipes,
            recipe=recipe, objective=objective, activity=activity, part=part, seeds=seeds,
            hierarchy=hierarchy, time_reset=time_reset, place=place, wire_cap=wire_cap,
            wire_res=wire_res, row_height=row_height, lef=lef or (), progress=steps,
        )  # fmt: skip
    present(found, html, json_, folder / "synth")
    return 0
