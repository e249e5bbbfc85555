"""How often beats pass between a simulated memory and its bus."""

from cocotb.simtime import get_sim_time

from carrysave.sim.cocotb.streams import PERIOD_NS

__all__ = ["BeatRate"]


class BeatRate:
    """A beat in so many cycles, of each way or of both.

    Parameters
    ----------
    beat : cycles of a beat.
    shared : beats of both ways follow each other; else only those of one way.
    """

    def __init__(self, beat: int = 1, *, shared: bool = False) -> None:
        self._beat, self._shared = beat, shared
        self._free = {"r": 0, "w": 0}

    @property
    def _paces(self) -> bool:
        return self._beat > 1 or self._shared

    def allows(self, way: str, ahead: int = 0) -> bool:
        """Return whether a beat may pass, ``"r"`` or ``"w"``, so many cycles from now."""
        return not self._paces or _cycle() + ahead >= self._free[way]

    def passed(self, way: str) -> None:
        """Have the next beat wait."""
        if self._paces:
            ways = self._free if self._shared else (way,)
            self._free |= dict.fromkeys(ways, _cycle() + self._beat)


def _cycle() -> int:
    return round(get_sim_time("ns") / PERIOD_NS)
