"""Streams that somebody else drives, watched under cocotb: transfers, and the stream rule."""

from collections.abc import Sequence
from typing import Any

import cocotb
from cocotb.task import Task
from cocotb.triggers import RisingEdge

from carrysave.sim.cocotb.pins import bits_of

__all__ = ["Monitor"]


class Monitor:
    """Watches a stream anywhere in a design, and checks that its sender keeps the stream rule.

    A payload that is valid must stay until it is taken. What is amiss fails the test at once.
    Nothing counts before a reset: registers have any value then.

    Parameters
    ----------
    block : module that has the ports, such as ``dut.engine``.
    name : of the stream, which the names of its ports begin with.
    fields : of the payload.
    clk : the clock that the bench drives. Of one that is made inside of the design the simulator
        tells too late: ports then have their next values.
    rst : reset that is high when it is active; `block.rst` by default. What is under way is lost.
    was_reset : the design was reset before; else it is looked at from its next reset on.

    Members
    -------
    beats : list of tuple of str   What passed: for each transfer the bits of every field.
    cycles : list of int           Clock edges at which it passed, the first that was seen being 0.
    resets : int                   Edges at which reset was active.
    """

    def __init__(
        self,
        block: Any,
        name: str,
        fields: Sequence[str],
        *,
        clk: Any,
        rst: Any = None,
        was_reset: bool = False,
    ) -> None:
        self.name = name
        self.beats: list[tuple[str, ...]] = []
        self.cycles: list[int] = []
        self.resets = 0
        self._clk = clk
        self._rst = bits_of(block.rst if rst is None else rst)
        self._valid = bits_of(getattr(block, f"{name}_valid"))
        self._ready = bits_of(getattr(block, f"{name}_ready"))
        self._payload = [bits_of(getattr(block, f"{name}_{field}")) for field in fields]
        self._held: tuple[str, ...] | None = None
        self._now = -1
        self._live = was_reset

    def start(self) -> Task[None]:
        """Watch from now on."""
        return cocotb.start_soon(self._watch())

    async def _watch(self) -> None:
        edge = RisingEdge(self._clk)
        while True:
            await edge
            self.look()

    def look(self) -> bool:
        """Look at the ports at a clock edge; tell whether a beat passed."""
        self._now += 1
        if self._rst() != "0":
            self._held, self._live = None, True
            self.resets += 1
            return False
        if not self._live:
            return False
        if self._valid() != "1":
            assert self._held is None, f"{self.name}_valid was withdrawn before the transfer"
            return False
        beat = tuple([read() for read in self._payload])
        held = self._held
        assert held in (None, beat), f"{self.name} changed while it waited: {held} to {beat}"
        if self._ready() != "1":
            self._held = beat
            return False
        self._held = None
        self.beats.append(beat)
        self.cycles.append(self._now)
        return True

    def pop(self) -> list[list[str]]:
        """Hand over what passed: for each field its values, as strings of bits."""
        beats, self.beats = self.beats, []
        return [list(values) for values in zip(*beats, strict=True)] or [[] for _ in self._payload]
