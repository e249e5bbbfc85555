"""Options of a search of designs, from the command line down."""

from collections.abc import Sequence
from dataclasses import dataclass

from carrysave.asic.options import SynthesisOptions
from carrysave.errors import ArgumentError, check_choice
from carrysave.exploration.front import check_objectives
from carrysave.exploration.search import METHODS
from carrysave.keywords import Options

__all__ = ["VERIFY", "ExploreOptions"]

VERIFY = ("front", "all", "none")


@dataclass(frozen=True, kw_only=True, repr=False)
class ExploreOptions(Options):
    """How designs are searched.

    Parameters
    ----------
    objective : figures to be best in, of :data:`carrysave.exploration.front.OBJECTIVES`; by default
        ``gops_per_mm2`` and ``pj_per_mac``, on the generic library ``operations_per_fo4_kge`` and
        ``kge``, on FPGAs ``gops`` and ``luts``, on those that are mapped only ``luts`` and
        ``dsps``.
    trials : designs to measure at most.
    method : ``model``, ``tpe``, ``nsga2``, ``random`` or ``grid``.
    estimate : by ``model``, measure no design that looks hopeless by its estimate.
    verify : which designs must pass their bench: ``front``, ``all`` or ``none``.
    seed : of the search, 0 or more.
    period_ns, sweep, part, seeds : of each synthesis, as of
        :class:`carrysave.asic.options.SynthesisOptions`.
    place : at last place the front on the cell library, and measure it with its wires.
    """

    objective: str | Sequence[str] | None = None
    trials: int = 50
    method: str = "model"
    estimate: bool = True
    verify: str = "front"
    seed: int = 1
    period_ns: float | None = None
    sweep: bool = False
    place: bool = False
    part: str | None = None
    seeds: int | None = None

    def __post_init__(self) -> None:
        """Check what does not depend on the target."""
        if self.objectives is not None:
            check_objectives(self.objectives)
        check_choice("method", self.method, METHODS)
        check_choice("verify", self.verify, VERIFY)
        if self.trials < 1:
            raise ArgumentError("{trials} must be 1 or more, not {value}", value=self.trials)
        if self.seed < 0:
            raise ArgumentError("{seed} must be 0 or more, not {value}", value=self.seed)

    @property
    def objectives(self) -> tuple[str, ...] | None:
        """The figures, if they are given."""
        if self.objective is None:
            return None
        return (self.objective,) if isinstance(self.objective, str) else tuple(self.objective)

    @property
    def synthesis(self) -> SynthesisOptions:
        """Of each design, before one is placed."""
        return SynthesisOptions(
            period_ns=self.period_ns, sweep=self.sweep, part=self.part, seeds=self.seeds
        )
