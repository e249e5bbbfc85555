"""Options of syntheses, checked before any work is done."""

from pathlib import Path

from carrysave.asic.abc_scripts import MAPS
from carrysave.asic.elaborate import HIERARCHIES
from carrysave.asic.liberty.cells import Library
from carrysave.asic.libraries import LIBRARIES, TARGETS, is_fpga
from carrysave.asic.mapping import Recipe
from carrysave.asic.options import SearchOptions, SynthesisOptions
from carrysave.asic.placement.floorplan import floorplan_of
from carrysave.asic.recipe_search import MOST_NEIGHBOURS, MOST_TRIALS
from carrysave.asic.routing.gds_layers import gds_files
from carrysave.asic.search import OBJECTIVES
from carrysave.errors import ArgumentError, check_choice, check_positive, needs
from carrysave.fpga import implementation

__all__ = ["check_options", "check_place"]


def check_options(options: SearchOptions, target: str | Library) -> None:
    """Refuse options that are out of range, or exclude each other.

    Raises
    ------
    ArgumentError
        Names the arguments, their values, and what is legal.
    ModuleNotFoundError
        If a package is missing that they need.
    """
    if isinstance(target, str):
        check_choice("target", target, TARGETS)
    _check_search(options)
    if is_fpga(target):
        _check_fpga(options, str(target))
    elif options.part is not None or options.seeds is not None:
        fpgas = "|".join(implementation.TARGETS)
        raise ArgumentError("{part} and {seeds} need {target} {fpgas}", fpgas=fpgas)
    if isinstance(options, SynthesisOptions):
        _check_recipes(options, target)
        _check_wires(options)
        if options.route and is_fpga(target):
            raise ArgumentError("{route} is for cell libraries, not for {family}", family=target)
        check_place(options.place or options.route, target)


def _check_search(options: SearchOptions) -> None:
    """Check what the best of a search is, and for which period."""
    check_positive("period_ns", options.period_ns, " ns")
    check_choice("objective", options.objective, OBJECTIVES)
    if options.hierarchy is not None:
        check_choice("hierarchy", options.hierarchy, tuple(HIERARCHIES))
    energy = options.objective == "energy"
    if energy and options.period_ns is None:
        raise ArgumentError(
            "{objective} energy needs {period_ns}: the least energy of all that meet it"
        )
    swept = options.sweeps if isinstance(options, SynthesisOptions) else options.sweep
    if options.period_ns is not None and swept and not energy:
        raise ArgumentError(
            "{period_ns} and {sweep} exclude each other, but for {objective} energy"
        )


def _check_fpga(options: SearchOptions, target: str) -> None:
    """Check options of a synthesis for an FPGA."""
    swept = options.sweeps if isinstance(options, SynthesisOptions) else options.sweep
    searched = options.period_ns is not None or swept or options.hierarchy is not None
    if searched or options.time_reset:
        raise ArgumentError(
            "{period_ns}, {sweep}, {hierarchy} and {time_reset} are for cell libraries, not for"
            " {family}",
            family=target,
        )
    if options.activity is not None:
        raise ArgumentError("{activity} is for cell libraries, not for {family}", family=target)
    seeds, most = options.seeds, implementation.MOST_SEEDS
    if seeds is not None and not 1 <= seeds <= most:
        raise ArgumentError("{seeds} must be 1 to {most}, not {value}", most=most, value=seeds)
    if options.part is not None:
        implementation.part_of(target, options.part)


def _check_recipes(options: SynthesisOptions, target: str | Library) -> None:
    """Check which recipes are run."""
    count = options.search_recipes
    if count is not None and not 1 <= count <= MOST_TRIALS:
        raise ArgumentError(
            "{search_recipes} must be 1 to {most}, not {value}", most=MOST_TRIALS, value=count
        )
    near, seed = options.neighbours, options.recipe_seed
    if count is None and (near is not None or seed is not None):
        raise ArgumentError("{neighbours} and {recipe_seed} need {search_recipes}")
    if near is not None and not 0 <= near <= MOST_NEIGHBOURS:
        raise ArgumentError(
            "{neighbours} must be 0 to {most}, not {value}", most=MOST_NEIGHBOURS, value=near
        )
    if count is not None and options.objective == "energy":
        raise ArgumentError("{search_recipes} is for density, period and area, not for energy")
    for name in options.maps or ():
        check_choice("maps", name, tuple(MAPS))
    if is_fpga(target) and (options.maps is not None or options.brief):
        raise ArgumentError(
            "{maps} and {brief} are for cell libraries, not for {family}", family=target
        )
    if options.brief and (not options.sweep or count is not None or options.objective == "energy"):
        raise ArgumentError(
            "{brief} needs {sweep} for density, period or area, without {search_recipes}"
        )
    if options.recipe is not None:
        _check_recipe(options, options.recipe, target)


def _check_recipe(options: SynthesisOptions, recipe: str, target: str | Library) -> None:
    """Refuse a recipe that is none, not for the target, or beside what chooses another."""
    if is_fpga(target):
        raise ArgumentError("{recipe} is for cell libraries, not for {family}", family=target)
    if options.sweeps or options.period_ns is not None:
        raise ArgumentError(
            "{recipe} excludes {sweep}, {search_recipes}, {period_ns} and {objective} energy"
        )
    library = LIBRARIES[target]() if isinstance(target, str) else target
    try:
        Recipe.checked(recipe, library)
    except ValueError as error:
        why = str(error).removeprefix("recipe ")
        raise ArgumentError("{recipe} {why}", why=why) from None


def _check_wires(options: SynthesisOptions) -> None:
    """Refuse sizes of wires that are out of range or not asked for."""
    sizes = {
        "wire_cap": (options.wire_cap, "fF/um"),
        "wire_res": (options.wire_res, "ohm/um"),
        "row_height": (options.row_height, "um"),
    }
    for name, (size, unit) in sizes.items():
        check_positive(name, size, f" {unit}")
        if size is not None and not options.places:
            raise ArgumentError(f"{{{name}}} needs {{place}}")
    if options.lef and not options.places:
        raise ArgumentError("{lef} needs {place}")
    for name in ("utilisation", "aspect"):
        if getattr(options, name) is not None and not options.places:
            raise ArgumentError(f"{{{name}}} needs {{place}}")
    floorplan_of(options)  # refuses what is out of range
    if options.route and not options.lef:
        raise ArgumentError("{route} needs {lef}, of the technology and of its cells")
    if options.gds:
        if not options.route:
            raise ArgumentError("{gds} needs {route}")
        needs("gdstk")
        gds_files([Path(file) for file in options.gds])  # refuses what is neither GDS nor layers


def check_place(placement: bool | None, target: str | Library) -> None:
    """Refuse to place what is not of a cell library, and without a placer."""
    if not placement:
        return
    if is_fpga(target):
        raise ArgumentError(
            "{place} is for cell libraries; {family} is placed where that is possible",
            family=target,
        )
    needs("coloquinte")
