"""Synthesises Verilog for a cell library or an FPGA, and measures the result.

For a cell library: Yosys maps every distinct module once, ABC maps and sizes the logic for a
series of delay targets, OpenSTA times every netlist, the best by the objective is the result.
"""

import contextlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from carrysave import cache, jobs
from carrysave.asic import placing, recipes, result, sta
from carrysave.asic.abc_scripts import MAPS
from carrysave.asic.clocking import REGISTER, is_reset
from carrysave.asic.elaborate import HIERARCHIES, Elaborated, elaborate, hierarchies
from carrysave.asic.liberty import cells as liberty
from carrysave.asic.liberty.cells import Library
from carrysave.asic.mapping import Flow, Recipe
from carrysave.asic.placement.technology import Technology
from carrysave.asic.placement.technology import technology as technology_of
from carrysave.asic.power import activity as switching
from carrysave.asic.power import power
from carrysave.asic.power.clock_tree import Wires
from carrysave.asic.power.stimulus import KINDS, UNMEASURED, Stimulus, measurable
from carrysave.asic.probe import probe
from carrysave.asic.recipe_search import MOST_TRIALS, search_recipes
from carrysave.asic.recipes import Kept
from carrysave.asic.search import OBJECTIVES, Search, Variant
from carrysave.errors import needs
from carrysave.fpga import implementation
from carrysave.fpga.fewer import fewer_blocks
from golden.check import Choice
from hw.catalog import Design
from hw.emit import tools
from hw.emit.flat_ports import clock_and_reset
from hw.emit.sources import Sources
from hw.emit.verilog import verilog_of

__all__ = [
    "ACTIVITIES", "HIERARCHIES", "MOST_TRIALS", "OBJECTIVES", "TARGETS", "check_device",
    "clock_of", "default_activity", "searched", "synthesise", "synthesise_design",
]  # fmt: skip

Progress = Callable[[str], None]

LIBRARIES: dict[str, Callable[[], Library]] = {
    "osu018": liberty.osu018, "generic": liberty.generic,
}  # fmt: skip
TARGETS = (*LIBRARIES, *implementation.TARGETS)
ACTIVITIES = (*UNMEASURED, *KINDS)
MEASURED_MACS = 256


def synthesise(
    verilog: Sequence[Path | str],
    *,
    top: str,
    target: str | Library,
    top_parameters: Mapping[str, str] = MappingProxyType({}),
    period_ns: float | None = None,
    sweep: bool = False,
    brief: bool = False,
    clock: str = "clk",
    operations_per_cycle: float | None = None,
    objective: str = "density",
    hierarchy: str | None = None,
    time_reset: bool = False,
    reset: str | None = None,
    progress: Progress | None = None,
    design: Design | None = None,
    activity: str = "assumed",
    place: bool | None = None,
    technology: Technology | None = None,
    seeds: int = 3,
    part: str | None = None,
    maps: Sequence[str] | None = None,
    kept: Kept | None = None,
    recipe: str | None = None,
    more_recipes: int = 0,
    others: Sequence[tuple[Design, Path]] = (),
    combine: Callable[[Mapping[str, Any]], Iterable[tuple[Design, Path]]] = lambda hows: (),
) -> dict[str, Any]:
    """Synthesise a design and return area, timing and power with all that they depend on.

    Parameters
    ----------
    verilog : source files (``.v``, ``.sv``, ``.il``).
    top : name of the top module.
    top_parameters : of the top module, by name: numbers of Verilog, in place of its own values.
    target : a cell library, by its name in :data:`LIBRARIES` or a :class:`Library`; or an FPGA
        family of :data:`TARGETS`.
    period_ns : clock period to meet with the least area; None for no such limit.
    sweep : try all recipes over a series of delay targets and take the best by ``objective``.
    brief : with ``sweep``, only all mappings at full speed, and other sizes for the best of these:
        for arrays, each point of which takes long. The best is placed alone.
    clock : name of the clock port; ignored by a design without registers.
    operations_per_cycle : operations (2 per multiply-accumulate) per clock cycle at full rate.
    objective : ``density`` (least period x area), ``period``, ``area``, or ``energy``: the least
        for `period_ns`, among what meets it.
    hierarchy : which repeated modules are mapped once, of
        :data:`carrysave.asic.elaborate.HIERARCHIES`; None for ``auto`` or, with ``sweep``, for the
        best of all.
    time_reset : time resets, too, which are ideal otherwise: asynchronous pins, and inputs that
        :func:`carrysave.asic.clocking.is_reset` knows.
    reset : one more reset, by name.
    progress : called with one line of text whenever something has been done.
    design : what the Verilog is of, if it is generated; a measured activity needs it.
    activity : what power is for, if the library has energies: ``none``, ``assumed``, or measured
        on a stimulus, see :meth:`carrysave.asic.power.stimulus.Stimulus.parse`.
    place : on FPGAs, place and route where that is possible, which is the default, or only count
        resources. On a cell library, place the result, repair it and measure it with its wires;
        with ``sweep`` the best few, of which the best so placed is the result.
    technology : of wires and rows, for ``place``; that of the library by default.
    seeds, part : as for :func:`carrysave.fpga.implementation.synthesise`.
    maps : mappings to try where a period is to be met, of
        :data:`carrysave.asic.abc_scripts.MAPS`: the next where the last does not meet it, so that
        the smallest comes first. All by default, and the least area counts.
    kept : the only point to run, found by an earlier search.
    recipe : the only one to run, at full speed, as reports name it; of one design, without a sweep
        or a period.
    more_recipes : after a sweep, search for so many recipes that are not of the fixed list, see
        :func:`carrysave.asic.recipe_search.search_recipes`.
    others : other ways to build `design`, that a sweep tries, too: its parameters and the Verilog.
    combine : makes another, of several parameters, if that can be built.

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
    _check_choice("objective", objective, OBJECTIVES)
    if more_recipes and (not sweep or objective == "energy"):
        raise ValueError("more_recipes needs a sweep, of another objective than energy")
    if brief and (not sweep or more_recipes or others or objective == "energy"):
        raise ValueError("brief needs a sweep for density, period or area, of one design")
    if objective == "energy" and period_ns is None:
        raise ValueError("period_ns must be given for the objective 'energy', not None")
    if recipe is not None and (sweep or period_ns is not None or kept is not None):
        raise ValueError("recipe must be without sweep, period_ns and kept")
    if hierarchy is not None:
        _check_choice("hierarchy", hierarchy, tuple(HIERARCHIES))
    for map_ in maps or ():
        _check_choice("maps", map_, tuple(MAPS))
    if design is None:
        _check_choice("activity", activity, UNMEASURED)
    elif activity not in UNMEASURED:
        Stimulus.parse(design, activity)
    if period_ns is not None and not period_ns > 0:
        raise ValueError(f"period_ns must be positive, not {period_ns!r}")
    sources = [Path(path) for path in verilog]
    if not sources:
        raise ValueError("verilog must be at least one file, not none")
    say = progress or (lambda text: None)
    if isinstance(target, str) and target in implementation.TARGETS:
        found = implementation.synthesise(
            top=top, target=target, clock=clock, sources=Sources.read(sources, top_parameters),
            place=place is not False,
            progress=say, seeds=seeds, part=part,
        )  # fmt: skip
        findings = found.pop("findings")
        record = result.of_fpga(found, top, target, operations_per_cycle)
        # Of what is generated all is known.
        record["notes"] += findings if design is None else []
        return record
    if isinstance(target, Library):
        library, target = target, target.name
    else:
        _check_choice("target", target, TARGETS)
        library = LIBRARIES[target]()
    wanted_recipe = None if recipe is None else Recipe.checked(recipe, library)
    if library.relative:
        activity = "none"
    if objective == "energy" and activity == "none":
        raise _no_energy("a library without energies" if library.relative else "activity none")
    sta.version()
    if place:
        needs("coloquinte")
        technology = technology or technology_of(library)
    overhead = probe(library)
    if design is not None and activity not in UNMEASURED:
        say(f"simulate {top}")
        switching.record(design, activity)  # what is wrong with it shows before the long work
    notes: list[str] = []

    def variants_of(own: Design | None, files: Sequence[Path]) -> Iterator[Variant]:
        module = own.module if own and own != design else top
        elaborated = elaborate(files, module, top_parameters)
        if own is None:
            notes.extend(elaborated.findings)
        conditions = sta.Conditions(
            clock=clock_of(elaborated, clock), resets=_resets(elaborated, reset, time_reset),
            asynchronous=tuple(elaborated.asynchronous), ideal_resets=not time_reset,
        )  # fmt: skip
        wanted = hierarchy if kept is None else kept.hierarchy
        for name, modules in hierarchies(elaborated, wanted, sweep and not brief, notes).items():
            flow = Flow(elaborated, tuple(modules), library, conditions)
            yield Variant(name, flow, own, _differing(own, design))

    def measure(
        point: dict[str, Any], netlist: Path, period: float, wires: Wires | None = None
    ) -> dict[str, Any]:
        chosen = search.variants[point["variant"]]
        return power.report(
            netlist, top=chosen.flow.design.top, library=library, period_ns=period,
            conditions=chosen.flow.conditions, operations=operations_per_cycle,
            design=chosen.design, stimulus=activity, wires=wires,
        )  # fmt: skip

    def energy(point: dict[str, Any]) -> float:
        assert period_ns is not None
        found = measure(point, Path(search.netlist(point)), period_ns)
        if found["power_mw"] is None:
            raise _no_energy("; ".join(found["notes"]))
        return found["power_mw"] * period_ns

    search = Search(
        [
            variant for own, files in [(design, sources), *((own, [file]) for own, file in others)]
            for variant in variants_of(own, files)
        ],
        objective=objective, overhead_ns=overhead, period_ns=period_ns, say=say,
        maps=maps, energy=energy,
        combine=lambda hows: (
            variant for own, file in combine(hows) for variant in variants_of(own, [file])
        ),
    )  # fmt: skip
    searched_recipes = None
    if kept is not None:
        (best,) = search.run([(0, Recipe.parse(kept.recipe), kept.delay_target_ns)])
    else:
        with jobs.session():
            best = (
                search.brief()
                if brief
                else search.sweep()
                if sweep
                else search.single(wanted_recipe)
            )
            if more_recipes:
                searched_recipes = search_recipes(search, more_recipes)
                best = search.best()
    placed = None
    if place and technology:
        finalists = placing.FINALISTS if sweep and not brief else 1
        placed = placing.best(search, finalists, technology, say)
        best = placed.point
    best = {**best, "netlist": search.netlist(best)}
    found = measure(best, Path(best["netlist"]), best["period_ns"])
    record = result.of_cells(search, target, best, operations_per_cycle, found, searched_recipes)
    if placed is not None and technology:
        say("power with wires")
        found = measure(
            best, placed.placed.netlist, placed.timing["period_ns"], placed.placed.wires
        )
        record["placed"] = placing.record(placed, technology, operations_per_cycle, found)
    record["notes"] += dict.fromkeys(notes)
    if kept is not None:
        said = kept.note(record["area_um2"], record["period_ns"], record["versions"])
        record["notes"].insert(0, said)
    return record


def _no_energy(why: str) -> ValueError:
    others = ", ".join(name for name in OBJECTIVES if name != "energy")
    return ValueError(f"objective must be one of {others} with {why}, not 'energy'")


def _differing(own: Design | None, base: Design | None) -> dict[str, Any]:
    """Return the parameters in which a design is another than the one asked for."""
    if own is None or base is None:
        return {}
    return {k: v for k, v in own.parameters.items() if v != base.parameters[k]}


def _resets(design: Elaborated, reset: str | None, timed: bool) -> tuple[str, ...]:
    """Return our names of the resets that are ideal."""
    if timed:
        return ()
    named = {port: design.names.get(port, port) for port in design.inputs}
    return tuple(port for port, name in named.items() if name == reset or is_reset(name))


def check_device(design: Design, target: str | Library) -> None:
    """Refuse a design of one device's blocks on cells, and on other devices."""
    if design.device not in (None, target):
        fpga = target in implementation.TARGETS
        where, legal = (target, f"one of generic, {target}") if fpga else ("cells", "generic")
        raise ValueError(f"parameter target must be {legal} on {where}, not {design.device!r}")


def synthesise_design(
    design: Design,
    target: str | Library,
    *,
    activity: str | None = None,
    from_kept: Collection[str] = (),
    hows: Collection[str] = (),
    **options: Any,
) -> dict[str, Any]:
    """Synthesise the generated Verilog of a design; options and result of :func:`synthesise`.

    Power is for :func:`default_activity` unless `activity` says otherwise.
    With ``sweep``, other values of the parameters `hows`, one at a time, are tried, too: see
    :func:`searched`; the result is then that of the best design.
    `from_kept` says where recipes may be kept, of :data:`recipes.PROJECT` and
    :data:`recipes.USER`: the best for the design is taken, if there is one and no period to meet.
    A comparison takes those of the project only: a design that a user searched, and none of its
    rivals, would have the better search.
    """
    check_device(design, target)
    cells = isinstance(target, Library) or target not in implementation.TARGETS
    alone = options.get("period_ns") is None and options.get("recipe") is None
    if from_kept and alone and cells:
        options["kept"] = recipes.kept(
            design,
            target if isinstance(target, Library) else LIBRARIES[target](),
            options.get("objective", "density"),
            options.get("hierarchy"),
            from_kept,
        )
    component = design.component()
    operations = component.operations_per_cycle
    if activity is None:
        activity = default_activity(design)
    with tools.workplace() as folder:
        verilog = cache.write(folder / f"{design.module}.v", verilog_of(design))
        if options.get("sweep") and cells:
            options["others"] = [
                (other, cache.write(folder / f"{other.module}.v", text))
                for other, text in _others(design, hows)
            ]
            options["combine"] = lambda values: [
                (other, cache.write(folder / f"{other.module}.v", text))
                for other, text in _built(design, values)
            ]
        clock, reset = clock_and_reset(component)
        record = synthesise(
            [verilog],
            top=design.module,
            target=target,
            clock=clock,
            reset=reset,
            operations_per_cycle=operations,
            design=design,
            activity=activity,
            **options,
        )
    if cells:
        if record["recipe_search"] is not None:
            library = target if isinstance(target, Library) else LIBRARIES[target]()
            own = Design(design.name, record["parameters"])
            objective = options.get("objective", "density")
            recipes.keep(recipes.of_search(own, library, record, objective))
        return record
    more = fewer_blocks(design, str(target), record, options.get("part"))
    record["notes"] = [*record["notes"], *more]
    return {**record, "design": design.name, "parameters": dict(design.parameters)}


def searched(design: Design) -> list[str]:
    """Return the parameters of how a design is built whose values a search may try."""
    return [
        name for name, kind in design.entry.build.items()
        if isinstance(kind, Choice) and kind.searched
    ]  # fmt: skip


def _others(design: Design, hows: Collection[str]) -> Iterator[tuple[Design, str]]:
    """Yield a design with each other value of each of some parameters, and its Verilog."""
    legal = searched(design)
    for name in hows:
        _check_choice("hows", name, legal)
        kind = design.entry.build[name]
        assert isinstance(kind, Choice)
        for value in kind.options:
            if value == design.parameters[name]:
                continue
            yield from _built(design, {name: value})


def _built(design: Design, hows: Mapping[str, Any]) -> Iterator[tuple[Design, str]]:
    """Yield a design with other parameters, and its Verilog, if it can be built."""
    other = Design(design.name, {**design.parameters, **hows})
    with contextlib.suppress(ValueError):
        yield other, verilog_of(other)


def default_activity(design: Design) -> str:
    """Return what power is for: normal operands, if there are operands for the design.

    Activity is assumed for more than ``MEASURED_MACS`` multipliers, too: simulating those takes
    longer than synthesising them.
    """
    small = design.component().operations_per_cycle <= 2 * MEASURED_MACS
    return "normal" if small and measurable(design) else "assumed"


def _check_choice(name: str, value: object, legal: Sequence[str]) -> None:
    if value not in legal:
        raise ValueError(f"{name} must be one of {', '.join(legal)}, not {value!r}")


def clock_of(design: Elaborated, clock: str) -> str | None:
    """Return our name of the clock port; None if the design has no registers.

    Raises
    ------
    ValueError
        If the clock is not an input of a design with registers, or not that of all of them.
    """
    ours = design.port(clock)
    if ours and design.ports[ours] == "input":
        strange = [roots for roots in design.clocks if ours not in roots]
        if strange:
            raise ValueError(
                f"clock must be that of all registers of {design.top}, not {clock!r}: others have"
                f" {' or '.join(sorted({_source(design, roots) for roots in strange}))};"
                " synthesise the part of each clock by itself"
            )
        return ours
    kinds = {kind for cells in design.modules.values() for kind in cells}
    if any("dff" in kind or "latch" in kind for kind in kinds):
        inputs = [
            design.names.get(name, name)
            for name, direction in design.ports.items()
            if direction == "input"
        ]
        raise ValueError(
            f"clock must be an input of {design.top} ({', '.join(inputs)}), not {clock!r}"
        )
    return None


def _source(design: Elaborated, roots: Sequence[str]) -> str:
    """Say what a clock comes from."""
    if roots == [REGISTER]:
        return "a clock from a register"
    return " and ".join(repr(design.names.get(name, name)) for name in roots if name != REGISTER)
