"""Where a walk along a row of a map is."""

from typing import NamedTuple, Self

from amaranth import Signal, signed

from hw.soc.schedule.window_place import SIDE

__all__ = ["LineWalk"]


class LineWalk(NamedTuple):
    """Where it is, of a job with windows.

    Members
    -------
    column : of the map, 0 or more where there are codes of it.
    here : it is inside.
    wait : columns to the one that makes a window complete.
    windows : that are left, less one.
    none : all are complete.
    at : place of the sums of the next one.
    delay : place of the codes that came a step of taps before.
    fresh : there are none yet.
    phase : columns of the step, from 1 on.
    """

    column: Signal
    here: Signal
    wait: Signal
    windows: Signal
    none: Signal
    at: Signal
    delay: Signal
    fresh: Signal
    phase: Signal

    @classmethod
    def make(cls, beats: int) -> Self:
        """Make the registers."""
        return cls(
            column=Signal(signed(SIDE + 2), name="column"),
            wait=Signal(14, name="wait"),
            windows=Signal(SIDE, name="windows_left"),
            at=Signal(range(beats), name="sums_at"),
            delay=Signal(range(beats), name="delay_at"),
            phase=Signal(4, name="phase"),
            **{name: Signal(name=name) for name in ("here", "none", "fresh")},
        )
