"""Synthesises Verilog for a cell library or an FPGA, and measures the result.

For a cell library: Yosys maps every distinct module once, ABC maps and sizes the logic for a
series of delay targets, OpenSTA times every netlist, the best by the objective is the result.
"""

from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

from carrysave.asic import recipes, result
from carrysave.asic.cell_synthesis import CellSynthesis
from carrysave.asic.check_options import check_options
from carrysave.asic.design_builds import DesignBuilds, searched
from carrysave.asic.elaborate import HIERARCHIES
from carrysave.asic.liberty.cells import Library
from carrysave.asic.libraries import LIBRARIES, TARGETS, is_fpga, library_of
from carrysave.asic.options import SynthesisOptions, Verilog
from carrysave.asic.power.stimulus import KINDS, UNMEASURED, Stimulus, measurable
from carrysave.asic.recipe_search import MOST_TRIALS
from carrysave.asic.search import OBJECTIVES
from carrysave.errors import check_choice, check_positive
from carrysave.fpga import implementation
from carrysave.fpga.fewer import fewer_blocks
from carrysave.keywords import by_name
from hw.catalog import Design
from hw.emit import tools
from hw.emit.flat_ports import check_one_clock, clock_and_reset
from hw.emit.sources import Sources

__all__ = [
    "ACTIVITIES",
    "HIERARCHIES",
    "LIBRARIES",
    "MOST_TRIALS",
    "OBJECTIVES",
    "TARGETS",
    "check_device",
    "default_activity",
    "searched",
    "synthesise",
    "synthesise_design",
]

Progress = Callable[[str], None]

ACTIVITIES = (*UNMEASURED, *KINDS)
MEASURED_MACS = 256
DEFAULTS = SynthesisOptions()


@by_name(SynthesisOptions)
def synthesise(
    verilog: Verilog,
    target: str | Library,
    options: SynthesisOptions = DEFAULTS,
    *,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Synthesise Verilog and return area, timing and power with all that they depend on.

    Parameters
    ----------
    target : a cell library, by its name in :data:`LIBRARIES` or a :class:`Library`; or an FPGA
        family of :data:`TARGETS`.
    progress : called with one line of text whenever something has been done.

    Returns
    -------
    A dict of plain values: see :func:`carrysave.asic.result.of_cells` and
    :mod:`carrysave.fpga.implementation`. Keys that do not apply are None.

    Raises
    ------
    ValueError
        If an argument is out of range, or the clock is not an input of a design with registers, or
        not that of all of them.
    FileNotFoundError
        If a source or the library is missing.
    YosysError, StaError, FpgaError
        If a tool is missing or fails.
    """
    check_options(options, target)
    check_positive("operations", verilog.operations)
    if options.activity is not None:
        check_choice("activity", options.activity, UNMEASURED)
    verilog = replace(verilog, files=[Path(file) for file in verilog.files])
    if not verilog.files:
        raise ValueError("files must be at least one file, not none")
    say = progress or _nobody
    if is_fpga(target):
        record, findings = _on_fpga(verilog, str(target), options, say)
        record["notes"] += findings
        return record
    return CellSynthesis(verilog, target, options, say=say).run()


@by_name(SynthesisOptions)
def synthesise_design(
    design: Design,
    target: str | Library,
    options: SynthesisOptions = DEFAULTS,
    *,
    progress: Progress | None = None,
    stored_recipes: Collection[str] = (),
    search_parameters: Collection[str] = (),
) -> dict[str, Any]:
    """Synthesise the generated Verilog of a design; result of :func:`synthesise`.

    Parameters
    ----------
    stored_recipes : where recipes may be stored, of :data:`recipes.PROJECT` and
        :data:`recipes.USER`: the best for the design is taken, if there is one and nothing else is
        asked for. A comparison takes those of the project only: a design that a user searched, and
        none of its rivals, would have the better search.
    search_parameters : of :func:`searched`; a sweep tries their other values, too, one at a time,
        and the result is that of the best design.
    """
    check_one_clock(design, "in what is synthesised by itself")
    check_device(design, target)
    check_options(options, target)
    if options.brief and search_parameters:
        raise ValueError("brief needs one design, without search_parameters")
    component = design.component()
    clock, reset = clock_and_reset(component)
    say = progress or _nobody
    with tools.workplace() as folder:
        builds = DesignBuilds(design, folder, search_parameters)
        verilog = Verilog(
            [builds.write(design)],
            design.module,
            clock,
            component.operations_per_cycle,
            reset=reset,
        )
        if is_fpga(target):
            record, _ = _on_fpga(verilog, str(target), options, say)  # of its own all is known
            more = fewer_blocks(design, str(target), record, options.part)
            record["notes"] = [*record["notes"], *more]
            return {**record, "design": design.name, "parameters": dict(design.parameters)}
        library = library_of(target)
        activity = options.activity or default_activity(design)
        if activity not in UNMEASURED:
            Stimulus.parse(design, activity)
        stored = None
        if stored_recipes and options.takes_stored:
            stored = recipes.stored(
                design, library, options.objective, options.hierarchy, stored_recipes
            )
        options = replace(options, activity=activity)
        work = CellSynthesis(verilog, target, options, say=say, builds=builds, stored=stored)
        record = work.run()
    if record["recipe_search"] is not None:
        best = Design(design.name, record["parameters"])
        recipes.store(recipes.of_search(best, library, record, options.objective))
    return record


def _nobody(text: str) -> None:
    """Ignore progress."""


def _on_fpga(
    verilog: Verilog, target: str, options: SynthesisOptions, say: Progress
) -> tuple[dict[str, Any], list[str]]:
    """Return the record of a synthesis for an FPGA, and what is to be said of the sources."""
    facts = implementation.synthesise(
        top=verilog.top,
        target=target,
        clock=verilog.clock,
        sources=Sources.read([Path(file) for file in verilog.files], verilog.parameters),
        place=options.place is not False,
        progress=say,
        seeds=options.seeds or implementation.SEEDS,
        part=options.part,
    )
    findings = facts.pop("findings")
    return result.of_fpga(facts, verilog.top, target, verilog.operations), findings


def check_device(design: Design, target: str | Library) -> None:
    """Refuse a design of one device's blocks on cells, and on other devices."""
    if design.device not in (None, target):
        fpga = is_fpga(target)
        where, legal = (target, f"one of generic, {target}") if fpga else ("cells", "generic")
        raise ValueError(f"parameter target must be {legal} on {where}, not {design.device!r}")


def default_activity(design: Design) -> str:
    """Return what power is for: normal operands, if there are operands for the design.

    Activity is assumed for more than ``MEASURED_MACS`` multipliers, too: simulating those takes
    longer than synthesising them.
    """
    small = design.component().operations_per_cycle <= 2 * MEASURED_MACS
    return "normal" if small and measurable(design) else "assumed"
