"""What the states of the core say to each other, and what ends them."""

from typing import NamedTuple, Self

from amaranth import Signal

__all__ = ["Control"]


class Control(NamedTuple):
    """What the states of a :class:`hw.soc.core.Core` set, and what ends them.

    Members
    -------
    begin : the job begins.
    stop, clear : no more bursts; the datapath is reset. Registers: they reach everything.
    fetches, gathers : the first descriptor is requested; its beats come.
    fetched : any descriptor has been requested, in the cycle before.
    gathered : the same, a cycle later, of every descriptor.
    first, copies, checks : the copy of the job begins anew; goes on; is checked.
    prepares, checked : it is being checked; it has been.
    takes, ended : a descriptor's beat is taken; the last one.
    fails : a job of a read that failed is the oldest one.
    ends : no more jobs are under way.
    on : one of several jobs is done.
    last : all jobs but the one that began last are done.
    late : memory owes something for too long; silent : a read.
    """

    begin: Signal
    stop: Signal
    clear: Signal
    fetches: Signal
    fetched: Signal
    gathers: Signal
    gathered: Signal
    first: Signal
    copies: Signal
    checks: Signal
    prepares: Signal
    checked: Signal
    takes: Signal
    ended: Signal
    fails: Signal
    ends: Signal
    on: Signal
    last: Signal
    late: Signal
    silent: Signal

    @classmethod
    def make(cls) -> Self:
        """Make the signals."""
        return cls(**{name: Signal(name=name, init=name == "clear") for name in cls._fields})
