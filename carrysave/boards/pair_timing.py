"""Timing of a design whose array has a clock of twice the frequency of all else."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Self

from carrysave.fpga.place import FpgaError

__all__ = ["PairTiming"]


class PairTiming(NamedTuple):
    """What nextpnr says of two clocks of one PLL, of which one is twice as fast as the other.

    It holds paths of a clock against that clock's period, and those from one clock to the other
    against nothing, but it says how long the longest is. An edge of the slow clock is one of the
    fast one, too; so all of these have a period of the fast clock. Skew between the two networks
    is not in it.

    Members
    -------
    slow_mhz, fast_mhz : that each clock reaches by itself.
    to_fast_ns, to_slow_ns : longest path from the slow clock's registers to the fast one's, and
        back.
    """

    slow_mhz: float
    fast_mhz: float
    to_fast_ns: float
    to_slow_ns: float

    @classmethod
    def of(cls, report: Mapping[str, Any]) -> Self:
        """Read nextpnr's report.

        Raises
        ------
        FpgaError
            It does not have two clocks, or no paths between them: nothing is known of these.
        """
        clocks = sorted(report["fmax"], key=lambda name: report["fmax"][name]["constraint"])
        if len(clocks) != 2:
            raise FpgaError(f"nextpnr must time two clocks, not {', '.join(clocks) or 'none'}")
        slow, fast = clocks
        return cls(
            slow_mhz=float(report["fmax"][slow]["achieved"]),
            fast_mhz=float(report["fmax"][fast]["achieved"]),
            to_fast_ns=_longest_ns(report, slow, fast),
            to_slow_ns=_longest_ns(report, fast, slow),
        )

    @property
    def fmax_mhz(self) -> float:
        """The slow clock's, with which both clocks and what is between them are met."""
        between = 500 / max(self.to_fast_ns, self.to_slow_ns)
        return min(self.slow_mhz, self.fast_mhz / 2, between)

    def __str__(self) -> str:
        """Say all four."""
        return (
            f"{self.slow_mhz:.1f} MHz, and the array's clock {self.fast_mhz:.1f} MHz; longest path"
            f" to the array {self.to_fast_ns:.2f} ns, and from it {self.to_slow_ns:.2f} ns"
        )


def _longest_ns(report: Mapping[str, Any], one: str, other: str) -> float:
    """Return the delay of the longest path from registers of one clock to those of another."""
    delays = [
        sum(step["delay"] for step in path["path"])
        for path in report["critical_paths"]
        if (_clock(path["from"]), _clock(path["to"])) == (one, other)
    ]
    if not delays:
        raise FpgaError(f"nextpnr must say what is between {one} and {other}, and does not")
    return float(max(delays))


def _clock(edge: str) -> str:
    """Return the clock of an edge of nextpnr's report, as in ``posedge clk``."""
    return edge.rpartition(" ")[2]
