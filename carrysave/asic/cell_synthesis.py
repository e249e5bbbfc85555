"""Synthesis for a cell library: the search for a netlist, its placement, and its figures."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from carrysave import jobs
from carrysave.asic import placing, result, sta
from carrysave.asic.clock_ports import clock_of, resets_of
from carrysave.asic.design_builds import DesignBuilds
from carrysave.asic.elaborate import elaborate, hierarchies
from carrysave.asic.liberty.cells import Library
from carrysave.asic.libraries import library_of
from carrysave.asic.mapping import Flow, Recipe
from carrysave.asic.options import SynthesisOptions, Verilog
from carrysave.asic.placement.floorplan import floorplan_of
from carrysave.asic.placement.lef import read_lef
from carrysave.asic.placement.technology import Technology, known_technology, technology
from carrysave.asic.power import activity as switching
from carrysave.asic.power import power
from carrysave.asic.power.clock_tree import Wires
from carrysave.asic.power.stimulus import UNMEASURED
from carrysave.asic.probe import probe
from carrysave.asic.recipe_search import search_recipes
from carrysave.asic.recipes import StoredRecipe, nearest
from carrysave.asic.routing import flow as routing
from carrysave.asic.routing.stream import stream
from carrysave.asic.search import OBJECTIVES, Search, Variant
from carrysave.errors import ArgumentError
from hw.catalog import Design

__all__ = ["CellSynthesis", "technology_of"]


def technology_of(options: SynthesisOptions, library: Library) -> Technology | None:
    """Return the wires of a library, but for what is given; None if nothing is placed."""
    if not options.places:
        return None
    lef = read_lef([Path(file) for file in options.lef]) if options.lef else None
    sizes = options.wire_cap, options.wire_res, options.row_height
    known = known_technology(library)
    if options.route and known is not None and sizes == (None, None, None):
        # LEF is there for its shapes: what was fitted to routed wires has their neighbours in it.
        wires = technology(library, known.capacitance, known.resistance, None, lef)
        return replace(wires, source=f"{known.source}; rows and sites of LEF")
    return technology(library, *sizes, lef)


class CellSynthesis:
    """One synthesis for a cell library.

    Parameters
    ----------
    verilog : of the top module as it was asked for.
    target, options : checked by :func:`carrysave.asic.check_options.check_options`.
    say : called with one line of text whenever something has been done.
    builds : of the design that the Verilog is of, if it is generated.
    stored : the only point to run, found by an earlier search.
    """

    def __init__(
        self,
        verilog: Verilog,
        target: str | Library,
        options: SynthesisOptions,
        *,
        say: Callable[[str], None],
        builds: DesignBuilds | None = None,
        stored: StoredRecipe | None = None,
    ) -> None:
        self.verilog = verilog
        self.library = library = library_of(target)
        self.target = target if isinstance(target, str) else library.name
        self.options = options
        self.say = say
        self.builds = builds
        self.stored = stored
        self.design = builds.design if builds else None
        self.notes: list[str] = []
        self.plan = floorplan_of(options)
        self.activity = "none" if library.relative else options.activity or "assumed"
        self.recipe = Recipe.checked(options.recipe, library) if options.recipe else None
        if options.objective == "energy" and self.activity == "none":
            why = "a library without energies" if library.relative else "activity none"
            raise _no_energy(why)

    def run(self) -> dict[str, Any]:
        """Search, place, measure; see :func:`carrysave.asic.synthesis.synthesise`."""
        sta.version()
        wires = technology_of(self.options, self.library)
        overhead = probe(self.library)
        if self.design is not None and self.activity not in UNMEASURED:
            self.say(f"simulate {self.verilog.top}")
            # What is wrong with it shows before the long work.
            switching.record(self.design, self.activity)
        search = self._search(overhead)
        best, more = self._best(search)
        timed = None
        if wires is not None:
            finalists = placing.FINALISTS if self.options.sweeps and not self.options.brief else 1
            timed = placing.best(search, finalists, wires, self.plan, self.say)
            best = timed.point
        best = {**best, "netlist": search.netlist(best)}
        measured = self._measure(search, best, Path(best["netlist"]), best["period_ns"])
        operations = self.verilog.operations
        record = result.of_cells(search, self.target, best, operations, measured, more)
        if timed is not None and wires is not None:
            self.say("power with wires")
            netlist, period = timed.placed.logic, timed.timing["period_ns"]
            measured = self._measure(search, best, netlist, period, timed.placed.wires)
            record["placed"] = placing.record(timed, wires, self.plan, operations, measured)
            if self.options.route:
                record["routed"] = self._routed(search, timed, wires)
        record["notes"] += dict.fromkeys(self.notes)
        if self.stored is not None:
            note = self.stored.note(record["area_um2"], record["period_ns"], record["versions"])
            record["notes"].insert(0, note)
        return record

    def _routed(
        self, search: Search, timed: placing.Timed, technology: Technology
    ) -> dict[str, Any]:
        """Route what was placed; return what a result has of it."""
        flow = search.variants[timed.point["variant"]].flow
        routed = routing.route_placed(
            timed.placed,
            [Path(file) for file in self.options.lef],
            top=flow.design.top,
            library=flow.library,
            technology=technology,
            say=self.say,
        )
        record = routing.record(
            routed,
            timed.placed,
            flow=flow,
            operations=self.verilog.operations,
            start_ns=timed.timing["period_ns"],
        )
        if self.options.gds:
            lef, gds = (
                [Path(file) for file in one] for one in (self.options.lef, self.options.gds)
            )
            record["files"]["gds"] = str(stream(routed, lef, gds, self.say))
        return record

    def _search(self, overhead: float) -> Search:
        """Return the search over the design as it was asked for and all other ways to build it."""
        files = [Path(file) for file in self.verilog.files]
        variants = [*self._variants(self.design, files)]
        if self.builds is not None and self.options.sweeps:
            for design, file in self.builds.others():
                variants += self._variants(design, [file])
        search = Search(
            variants,
            objective=self.options.objective,
            overhead_ns=overhead,
            period_ns=self.options.period_ns,
            say=self.say,
            maps=self.options.maps,
            energy=lambda point: self._energy(search, point),
            combine=self._combined,
        )
        return search

    def _variants(self, design: Design | None, files: Sequence[Path]) -> Iterator[Variant]:
        """Yield one way to build the design in each hierarchy that is tried."""
        options = self.options
        module = design.module if design and design != self.design else self.verilog.top
        elaborated = elaborate(files, module, self.verilog.parameters)
        if design is None:
            self.notes.extend(elaborated.findings)
        conditions = sta.Conditions(
            clock=clock_of(elaborated, self.verilog.clock),
            resets=() if options.time_reset else resets_of(elaborated, self.verilog.reset),
            asynchronous=tuple(elaborated.asynchronous),
            ideal_resets=not options.time_reset,
        )
        wanted = options.hierarchy if self.stored is None else self.stored.hierarchy
        every = options.sweeps and not options.brief
        for name, modules in hierarchies(elaborated, wanted, every, self.notes).items():
            flow = Flow(elaborated, tuple(modules), self.library, conditions)
            yield Variant(name, flow, design, _differing(design, self.design))

    def _combined(self, values: Mapping[str, Any]) -> Iterator[Variant]:
        """Yield the design with several other parameters, if it can be built."""
        if self.builds is not None:
            for design, file in self.builds.combined(values):
                yield from self._variants(design, [file])

    def _best(self, search: Search) -> tuple[dict[str, Any], dict[str, Any] | None]:
        """Return the best point, and what a search of more recipes gained."""
        if (one := self.stored) is not None:
            (point,) = search.run([(0, Recipe.parse(one.recipe), one.delay_target_ns)])
            return point, None
        with jobs.session():
            if self.options.brief:
                return search.brief(), None
            if not self.options.sweeps:
                return search.single(self.recipe), None
            best, asked = search.sweep(), self.options
            if asked.search_recipes is None:
                return best, None
            near = nearest(self.design, self.library, asked.objective, asked.neighbours)
            more = search_recipes(search, asked.search_recipes, asked.recipe_seed or 0, near)
            return search.best(), more

    def _measure(
        self,
        search: Search,
        point: dict[str, Any],
        netlist: Path,
        period: float,
        wires: Wires | None = None,
    ) -> dict[str, Any]:
        """Return the power of a netlist at a period."""
        variant = search.variants[point["variant"]]
        return power.report(
            netlist,
            variant.flow,
            period_ns=period,
            operations=self.verilog.operations,
            design=variant.design,
            stimulus=self.activity,
            wires=wires,
        )

    def _energy(self, search: Search, point: dict[str, Any]) -> float:
        """Return the energy of a cycle of a point, pJ, at the period that is to be met."""
        period = self.options.period_ns
        assert period is not None
        measured = self._measure(search, point, Path(search.netlist(point)), period)
        if measured["power_mw"] is None:
            raise _no_energy("; ".join(measured["notes"]))
        return measured["power_mw"] * period


def _no_energy(why: str) -> ArgumentError:
    others = ", ".join(name for name in OBJECTIVES if name != "energy")
    return ArgumentError(
        "{objective} must be one of {others} with {why}, not 'energy'", others=others, why=why
    )


def _differing(design: Design | None, base: Design | None) -> dict[str, Any]:
    """Return the parameters in which a design is another than the one asked for."""
    if design is None or base is None:
        return {}
    return {k: v for k, v in design.parameters.items() if v != base.parameters[k]}
