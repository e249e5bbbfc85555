"""Options of a run of a bench."""

from dataclasses import dataclass

from carrysave.keywords import Options

__all__ = ["BenchOptions"]


@dataclass(frozen=True, kw_only=True, repr=False)
class BenchOptions(Options):
    """How a bench is run.

    Parameters
    ----------
    tests : regular expression that picks tests by name; all by default.
    seed : seed of the random stimulus, 0..2^31 - 1; by default ``$CARRYSAVE_SEED``, else drawn.
    waves : record waves; the simulator must be built for it.
    coverage : count lines, branches and toggles of bits, by Verilator alone.
    deadline : seconds after which a simulation that still runs is ended, and has failed.
    stop : end with the first test that fails.
    """

    tests: str | None = None
    seed: int | None = None
    waves: bool = False
    coverage: bool = False
    deadline: float = 600.0
    stop: bool = False
