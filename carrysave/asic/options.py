"""What is synthesised, and how: options from the command line down, each with one name."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike

from carrysave.keywords import Options

__all__ = ["CompareOptions", "SearchOptions", "SynthesisOptions", "Verilog"]


@dataclass(frozen=True)
class Verilog:
    """A user's module, in Verilog or SystemVerilog.

    Parameters
    ----------
    files : all that it needs (``.v``, ``.sv``, ``.il``).
    top : its name.
    clock : its clock port; ignored if it has no registers.
    operations : per cycle, for GOPS; two per multiply-accumulate. None: not known.
    parameters : of the top module, by name: numbers of Verilog, in place of its own values.
    reset : a reset port besides those that are named as one, such as ``rst`` and ``aresetn``.
    """

    files: Sequence[str | PathLike[str]]
    top: str
    clock: str = "clk"
    operations: float | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)
    reset: str | None = None


@dataclass(frozen=True, kw_only=True, repr=False)
class SearchOptions(Options):
    """How a design is synthesised, as far as designs can be compared by it.

    Parameters
    ----------
    period_ns : clock period to meet with the least area, ns.
    sweep : try all recipes, delay targets and hierarchies, and take the best by `objective`.
    objective : ``density`` (least period x area), ``period``, ``area``, or ``energy``: the least
        for `period_ns`, among what meets it.
    activity : what power is for, such as ``normal`` operands, ``assumed`` or ``none``; see
        :meth:`carrysave.asic.power.stimulus.Stimulus.parse`. None: see
        :func:`carrysave.asic.synthesis.default_activity`.
    part, seeds : of an FPGA: the device, the first that fits by default, and runs of place and
        route, 3 by default.
    hierarchy : repeated modules to map once: ``auto``, ``coarse`` or ``flat``; None for ``auto``
        or, with `sweep`, for the best of them.
    time_reset : time resets, too, which are ideal otherwise.
    """

    period_ns: float | None = None
    sweep: bool = False
    objective: str = "density"
    activity: str | None = None
    part: str | None = None
    seeds: int | None = None
    hierarchy: str | None = None
    time_reset: bool = False


@dataclass(frozen=True, kw_only=True, repr=False)
class CompareOptions(SearchOptions):
    """How designs are synthesised that are compared, and what is asked of them.

    Parameters
    ----------
    period_ns, memory : what is asked: which designs run at this period, on an FPGA too, beside a
        memory of this rate (``0.8GB/s``) or name, and which is the best of these by `objective`.

    Others are as of :class:`SearchOptions`.
    """

    memory: str | None = None


@dataclass(frozen=True, kw_only=True, repr=False)
class SynthesisOptions(SearchOptions):
    """How a design is synthesised.

    Parameters
    ----------
    recipe : the only one to run, at full speed, as a result names it, such as
        ``tree+wide+sizes@density``.
    search_recipes : after a sweep, which this asks for too, try this many recipes of ABC's
        passes, see :func:`carrysave.asic.recipe_search.search_recipes`.
    neighbours : of `search_recipes`, begin with the recipes that are stored for so many designs,
        those most like this one, whatever they are. By default for three at most, of this design
        with other parameters.
    recipe_seed : of `search_recipes`, 0 by default.
    place : on a cell library, place the result, repair it and measure it with its wires, too;
        with a sweep the best few, of which the best so placed is the result. On FPGAs, False:
        count resources only, and do not place and route.
    wire_cap, wire_res, row_height : of `place`, fF/um, ohm/um and um, in place of the library's.
    lef : files with what is not given of wires and rows.
    utilisation, aspect : of `place`, share of the die that the mapped cells take, 0.7 by default,
        and its width by its height, 1 by default.
    route : place, and route what is placed, with the cells of `lef`; check and time that, too.
    gds : of `route`, GDS of the cells, to write that of the die, and a file of numbers of layers,
        with lines of ``name drawing|label|boundary layer type``; sky130's if there is none.
    brief : with a sweep, only all mappings at full speed, and other sizes for the best of these:
        for arrays, each point of which takes long. The best is placed alone.
    maps : mappings to try where a period is to be met, of
        :data:`carrysave.asic.abc_scripts.MAPS`: the next where the last does not meet it. All by
        default, and the least area counts.

    Others are as of :class:`SearchOptions`.
    """

    recipe: str | None = None
    search_recipes: int | None = None
    neighbours: int | None = None
    recipe_seed: int | None = None
    place: bool | None = None
    wire_cap: float | None = None
    wire_res: float | None = None
    row_height: float | None = None
    lef: Sequence[str | PathLike[str]] = ()
    utilisation: float | None = None
    aspect: float | None = None
    route: bool = False
    gds: Sequence[str | PathLike[str]] = ()
    brief: bool = False
    maps: Sequence[str] | None = None

    @property
    def places(self) -> bool:
        """Whether the result is placed."""
        return bool(self.place or self.route)

    @property
    def sweeps(self) -> bool:
        """Whether there is a search over recipes, periods and hierarchies."""
        return self.sweep or self.search_recipes is not None

    @property
    def takes_stored(self) -> bool:
        """Whether a stored recipe may be taken, as no other option says what to run."""
        return self.period_ns is None and self.recipe is None and not self.sweeps
