"""Options of syntheses as flags: those of :mod:`carrysave.asic.options`, with their help."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from cyclopts.types import ExistingFile

from carrysave.asic import synthesis
from carrysave.asic.kits import KITS
from carrysave.asic.options import CompareOptions, SearchOptions, SynthesisOptions
from carrysave.cli.defaults import Hidden
from carrysave.compiler.target.memory import LEGAL_RATE
from carrysave.errors import UsageError, check_choice
from hw.device import DEVICES

__all__ = [
    "Clock",
    "CompareFlags",
    "Liberty",
    "Operations",
    "Part",
    "Period",
    "SearchFlags",
    "Seeds",
    "SynthesisFlags",
    "Target",
    "check_libraries",
]

Target = Annotated[
    str | None,
    Parameter(
        help=f"One of {', '.join(synthesis.TARGETS)}; or {', '.join(KITS)}: kits in PDK_ROOT or"
        " where ciel, volare and open_pdks put it. [default: osu018 if it is installed, else"
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
Period = Annotated[float | None, Parameter(name="--period", help="Target clock period, ns.")]
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
Clock = Annotated[str | None, Parameter(help="Clock port of --verilog. [default: clk]")]
Operations = Annotated[float | None, Parameter(help="Operations per cycle of --verilog, for GOPS.")]


def check_libraries(target: str | None, liberty: Sequence[Path] | None) -> None:
    """Refuse two ways to say what is synthesised for, and what is no name of a target."""
    if target is not None and liberty is not None:
        raise UsageError("--target and --liberty exclude each other")
    if target is not None:
        known = *KITS, *synthesis.TARGETS
        if target not in DEVICES:
            check_choice("target", target, known)


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class SearchFlags(SearchOptions):
    """Flags of a synthesis that designs can be compared by; defaults are those of the options."""

    period_ns: Period
    sweep: Annotated[
        bool,
        Parameter(
            show_default=False,
            help="Search recipes, periods and hierarchies for the best result of each.",
        ),
    ]
    objective: Annotated[
        str,
        Parameter(
            help=f"Objective of --sweep: {', '.join(synthesis.OBJECTIVES)}; energy is the least for"
            " --period, with or without --sweep."
        ),
    ]
    activity: Annotated[
        str | None,
        Parameter(
            help="Operands for power. [default: normal, if all are designs that can be simulated,"
            " else the same assumed activity for all]"
        ),
    ]
    part: Part
    seeds: Seeds
    hierarchy: Hierarchy
    time_reset: Annotated[
        bool,
        Parameter(
            show_default=False,
            help="Time resets, too, and buffer asynchronous ones; they are ideal by default.",
        ),
    ]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class CompareFlags(SearchFlags, CompareOptions):
    """Flags of a comparison; defaults are those of the options."""

    period_ns: Annotated[
        float | None,
        Parameter(name="--period", help="Clock period, ns, and which of the designs run at it."),
    ]
    memory: Annotated[
        str | None,
        Parameter(
            help="Memory that brings all operands, and for which of the designs it is fast enough:"
            f" {LEGAL_RATE}; the first that the question allows by --objective is the best."
        ),
    ]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class SynthesisFlags(SearchFlags, SynthesisOptions):
    """Flags of a synthesis; defaults are those of the options."""

    sweep: Annotated[
        bool,
        Parameter(
            show_default=False,
            help="Search recipes, periods and hierarchies for the best result, and ways to build a"
            " design that no parameter says.",
        ),
    ]
    activity: Annotated[
        str | None,
        Parameter(
            help=f"Operands for power: {', '.join(synthesis.ACTIVITIES)}; for lanes with formats,"
            " such as normal:int8,e4m3. [default: normal]"
        ),
    ]
    search_recipes: Annotated[
        int | None,
        Parameter(
            help="After a sweep, which this asks for too, try this many recipes: sequences of"
            " passes of ABC. The best is stored in the cache, and used afterwards."
        ),
    ]
    neighbours: Annotated[
        int | None,
        Parameter(
            help="A search of recipes begins with those that are stored for so many designs, most"
            " like this one. [default: 3 at most, of the same design with other parameters]"
        ),
    ]
    recipe_seed: Annotated[int | None, Parameter(help="Seed of a search of recipes. [default: 0]")]
    recipe: Annotated[
        str | None,
        Parameter(
            help="Run this recipe alone, as a report names it: front end, mapping, and adders and"
            " sizes if there are some, such as tree+wide+sizes@density."
        ),
    ]
    place: Annotated[
        bool | None,
        Parameter(
            show_default=False,
            help="Place on a cell library, buffer and size by the wires, and measure with them;"
            " with --sweep, the best few points.",
        ),
    ]
    wire_cap: Annotated[
        float | None, Parameter(help="Capacitance of wires, fF/um. [default: the library's]")
    ]
    wire_res: Annotated[
        float | None, Parameter(help="Resistance of wires, ohm/um. [default: the library's]")
    ]
    row_height: Annotated[
        float | None, Parameter(help="Height of a row of cells, um. [default: the library's]")
    ]
    lef: Annotated[
        Sequence[ExistingFile],
        Parameter(
            show_default=False,
            help="LEF of a technology or its cells, for what is not given of wires and rows;"
            " repeatable.",
        ),
    ]
    utilisation: Annotated[
        float | None,
        Parameter(help="Share of the die that the mapped cells take, 0.05 to 0.95. [default: 0.7]"),
    ]
    aspect: Annotated[
        float | None, Parameter(help="Width of the die by its height, 0.1 to 10. [default: 1]")
    ]
    route: Annotated[
        bool,
        Parameter(
            show_default=False,
            help="Place, route on the tracks of --lef, which must have technology and cells, check"
            " that and time it with its wires. [default of --lef: that of a process's kit]",
        ),
    ]
    gds: Annotated[
        Sequence[ExistingFile],
        Parameter(
            show_default=False,
            help="GDS of the cells, to write GDS of what --route made; and a file of numbers of"
            " layers, with lines of NAME drawing|label|boundary LAYER TYPE, but for sky130;"
            " repeatable.",
        ),
    ]
    brief: Annotated[bool, Hidden]
    maps: Annotated[Sequence[str] | None, Hidden]
