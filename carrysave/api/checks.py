"""Arguments of syntheses, checked before any work is done; errors have names of options."""

from collections.abc import Mapping

from carrysave.asic import synthesis
from carrysave.asic.liberty.cells import Library
from carrysave.asic.mapping import Recipe
from carrysave.errors import UsageError, check_choice, check_positive, needs
from carrysave.fpga import implementation

__all__ = ["check_place", "check_recipe", "check_recipes", "check_search", "check_wires"]


def check_search(
    *,
    target: str | None,
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


def check_recipe(text: str | None, target: str | Library, other: bool) -> None:
    """Refuse a recipe that is none, not for the target, or beside what chooses another."""
    if text is None:
        return
    if isinstance(target, str) and target in implementation.TARGETS:
        raise UsageError(f"--recipe is for cell libraries, not for {target}")
    if other:
        raise UsageError("--recipe excludes --sweep, --search-recipes, --period and energy")
    library = synthesis.LIBRARIES[target]() if isinstance(target, str) else target
    try:
        Recipe.checked(text, library)
    except ValueError as error:
        raise UsageError(f"--{error}") from None


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
