"""The clock domain of the engine and of the feeds of its operands, and what crosses its edge."""

from typing import Any

from amaranth import Cat, DomainRenamer, Module, Signal, Value
from amaranth.hdl import ShapeLike
from amaranth.lib.wiring import connect

from golden.soc.spec import CoprocessorSpec
from hw.lib.fifo import Fifo
from hw.soc.path.block_scales import connect_scales
from hw.soc.path.clock_crossing import FAST, SLOW, ClockPair, ClockPulses, ClockQueue, ClockTotal
from hw.soc.stores.sum_rows import StoredRow

__all__ = ["ArrayDomain"]

_DEPTH = 8
"""Least places of a queue between domains."""


class ArrayDomain:
    """Where engine and operand feeds are: among all else, or at twice its clock.

    At twice the clock operand stores are written by the slow clock and read by the fast one;
    requests of tiles, and complete rows of stores, go to the fast side, buffers that are free and
    rows of sums to the slow one. What a job says is a register more of the fast side: it changes
    only when no tile is under way, and a request comes later than it. Both sides are reset
    together. At one clock there is nothing between them.

    Parameters
    ----------
    m : of the datapath.
    spec : CoprocessorSpec
        What: the engine, and whether it has a clock of its own.
    """

    def __init__(self, m: Module, spec: CoprocessorSpec):
        self._m = m
        self._spec = spec
        self._twice = spec.array_clock > 1
        self._domain = FAST if self._twice else SLOW

    def place(self, name: str, part: Any) -> None:
        """Add a part, whose domain is ``sync``, as one of the array's."""
        self._m.submodules[name] = DomainRenamer(FAST)(part) if self._twice else part

    def still(self, value: Any, name: str) -> Any:
        """Return what is the same while tiles are under way, for the array."""
        if not self._twice:
            return value
        copy: Any = Signal(value.shape(), name=f"{name}_fast", reset_less=True)
        self._m.d[FAST] += copy.eq(value)
        return copy

    def requests(self, shape: ShapeLike, depth: int) -> Fifo | ClockQueue:
        """Make a queue of so many places into the array; of its least places, between domains."""
        if not self._twice:
            return Fifo(shape, depth)
        return ClockQueue(shape, _DEPTH, ClockPair(SLOW, FAST))

    def filled(self, pulse: Value, name: str) -> Value:
        """Return pulses for the array."""
        return self._pulses(pulse, f"filled_{name}", 1, ClockPair(SLOW, FAST))

    def released(self, pulse: Value, name: str) -> Value:
        """Return pulses of the array, for the rest; no more wait than there are buffers."""
        return self._pulses(pulse, f"released_{name}", self._spec.PARTS, ClockPair(FAST, SLOW))

    def _pulses(self, pulse: Value, name: str, most: int, clocks: ClockPair) -> Value:
        if not self._twice:
            return pulse
        self._m.submodules[name] = crossing = ClockPulses(most, clocks)
        self._m.d.comb += crossing.i.eq(pulse)
        return crossing.o

    def total(self, number: Value, name: str, most: int = 1) -> Value:
        """Return the sum of the array's numbers of a cycle of the rest; of each, at most `most`."""
        if not self._twice:
            return number
        self._m.submodules[f"total_{name}"] = total = ClockTotal(most)
        self._m.d.comb += total.i.eq(number)
        return total.o

    def multiply(self, path: Any, geometry: Any, sums: Any) -> None:
        """Connect the engine of a datapath: to the feeds, and to the store of sums.

        Parameters
        ----------
        path : the :class:`hw.soc.datapath.Datapath`.
        geometry : of the job, for the array.
        sums : what takes rows of them.
        """
        m, engine, spec = self._m, path.engine, self._spec
        inside = spec.inside
        for side in "ab":
            operand, port = path.operands[side], getattr(engine, f"i_{side}")
            ready: Any = 1
            if inside.block:
                to = side, port
                ready = connect_scales(m, spec, geometry, path.operands, to, self._domain)
            m.d.comb += [
                port.valid.eq(operand.o.valid & ready),
                port.payload.data.eq(operand.o.payload.data),
                operand.o.ready.eq(port.ready & ready),
            ]
            if len(inside.modes) > 1:
                name = f"{side}_format"
                m.d.comb += port.payload.format.eq(self.still(path.i_job.mode[name], name))
        row, rows = engine.o_c.payload, self._rows(sums)
        numbers: list[Value] = [
            row.data.word_select(number, inside.sum_width) for number in range(inside.n)
        ]
        if inside.flags:
            numbers = [Cat(value, row.invalid[number]) for number, value in enumerate(numbers)]
        if inside.spec.bipolar:
            m.d.comb += engine.i_a.payload.codes.eq(path.operands["a"].o.payload.codes)
        m.d.comb += [
            engine.i_a.payload.last.eq(path.operands["a"].o.payload.last),
            rows.valid.eq(engine.o_c.valid),
            rows.payload.data.eq(Cat(numbers)),
            rows.payload.last.eq(row.last),
            engine.o_c.ready.eq(rows.ready),
        ]

    def _rows(self, rows: Any) -> Any:
        """Return the stream that rows of sums leave the array by.

        Between domains there is room for a tile's, which leave an array one in a cycle.
        """
        if not self._twice:
            return rows
        depth = max(_DEPTH, 1 << (self._spec.inside.m - 1).bit_length())
        self._m.submodules.rows = queue = ClockQueue(
            StoredRow(self._spec), depth, ClockPair(FAST, SLOW)
        )
        connect(self._m, queue.o, rows)
        return queue.i
