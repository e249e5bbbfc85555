"""One element of a device's own multiplier blocks, between two streams."""

from typing import Any

from amaranth import Cat, Module, Mux, Signal

from golden.pe.mac import MacSpec
from hw.device import Family
from hw.device.choice import groups_of_blocks
from hw.lib.fifo import Fifo
from hw.lib.shared_module import SharedModule
from hw.pe.cascade_element import make_block_element
from hw.pe.fabric_element import FabricElement

__all__ = ["BlockStream"]


class BlockStream:
    """Feeds an element that never stops; its sums wait in a queue.

    A beat is taken if there is room in the queue for all sums that may still come.

    Parameters
    ----------
    spec : MacSpec
        What: operand and accumulator widths.
    family : Family
        How: the device.
    dsps : int
        How: blocks that may be used.

    Raises
    ------
    ValueError
        Operands do not fit a block, or `dsps` is less than the blocks of the element.
    """

    def __init__(self, spec: MacSpec, family: Family, dsps: int):
        self.spec = spec
        self.family = family
        self.element = make_block_element(spec, family, "none", 1, gaps=False).first
        if not groups_of_blocks(dsps, 1, self.element.blocks, "an element"):
            self.element = FabricElement(self.element)
        self.depth = 1 << self.latency.bit_length()

    @property
    def shared_modules(self) -> tuple[SharedModule, ...]:
        """The element."""
        return (self.element,)

    @property
    def dsps(self) -> int:
        """Multiplier blocks."""
        return self.element.blocks

    @property
    def latency(self) -> int:
        """Cycles from the last pairs of a sum to the sum."""
        return 1 + self.element.latency + 2

    def build(self, m: Module, i: Any, o: Any) -> None:
        """Connect the element to its streams."""
        spec, element = self.spec, self.element
        m.submodules.pe = pe = element.place()
        m.submodules.queue = queue = Fifo(spec.accumulator_width, self.depth)

        # Reset is the end of a sum, which is none.
        coming = Signal(range(self.depth + 1))
        accept, taken = Signal(), Signal()
        ends, real = Signal(self.latency - 1, init=1), Signal(self.latency - 1)
        held_a = Signal(len(element.i_a), reset_less=True)
        held_b = Signal(len(element.i_b), reset_less=True)
        a = [i.payload.a.word_select(pair, spec.a_width) for pair in range(spec.k)]
        b = [i.payload.b.word_select(pair, spec.b_width) for pair in range(spec.k)]
        last = accept & i.payload.last
        m.d.comb += [
            i.ready.eq(coming != self.depth),
            accept.eq(i.valid & i.ready),
            taken.eq(o.valid & o.ready),
            pe.i_a.eq(held_a),
            pe.i_b.eq(held_b),
            pe.i_keep.eq(~ends[-2]),
            queue.i.valid.eq(real[-1]),
            queue.i.payload.eq(Cat(element.finish(m, pe.o_sums))),
            o.valid.eq(queue.o.valid),
            o.payload.sum.eq(queue.o.payload),
            queue.o.ready.eq(o.ready),
        ]
        m.d.sync += [
            held_a.eq(Mux(accept, element.encode_a(m, [a]), 0)),
            held_b.eq(self.family.next_b(held_b, accept, element.encode_b(m, [b]))),
            ends.eq(Cat(last, ends)),
            real.eq(Cat(last, real)),
            coming.eq(coming + last - taken),
        ]
