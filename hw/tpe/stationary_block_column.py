"""Column of a weight-stationary array of a device's own multiplier blocks."""

from amaranth import Module, Signal, Value
from amaranth.lib.wiring import In, Member, Out

from golden.tpe.systolic_ws import SystolicWsSpec
from hw.device.cascade import Stationary
from hw.lib.shared_module import SharedModule

__all__ = ["StationaryBlock", "StationaryBlockColumn"]


class StationaryBlock(SharedModule):
    """A block that holds its weight and adds the product to a passing sum.

    Parameters
    ----------
    spec : SystolicWsSpec
        What: the array.
    blocks : Stationary
        How: the device's.
    is_first : bool
        How: sums start here, and come back from the last one.
    suffix : str
        How: of the Verilog module's name.

    Members
    -------
    i_a : In
        Code of A.
    i_b, i_load : In
        Weight, and that it is this element's.
    i_swap : In(1)
        The weight loaded before is that of this and the following ``i_a``.
    i_sum : In
        From the element above; of the first, from the last one.
    i_clear, o_clear : In(1), Out(1)
        Of the first: the sum starts with this code of A; the same, one cycle later.
    o_a, o_swap : Out
        ``i_a`` and ``i_swap``, one cycle later.
    o_down, o : Out
        The new sum, for the element below and for logic.
    """

    i_a: Signal
    i_b: Signal
    i_load: Signal
    i_swap: Signal
    i_sum: Signal
    i_clear: Signal
    o_a: Signal
    o_swap: Signal
    o_clear: Signal
    o_down: Signal
    o: Signal

    def __init__(self, spec: SystolicWsSpec, blocks: Stationary, suffix: str, *, is_first: bool):
        self.spec = spec
        self.blocks = blocks
        self.is_first = is_first
        self.module = ("element_first" if is_first else "element") + suffix
        clears: dict[str, Member] = {"i_clear": In(1), "o_clear": Out(1)} if is_first else {}
        super().__init__({
            "i_a": In(spec.a_width),
            "i_b": In(spec.b_width),
            "i_load": In(1),
            "i_swap": In(1),
            "i_sum": In(blocks.width),
            "o_a": Out(spec.a_width),
            "o_swap": Out(1),
            "o_down": Out(blocks.width),
            "o": Out(blocks.width),
            **clears,
        })

    def elaborate(self, platform):
        m = Module()
        spec = self.spec
        m.d.sync += [self.o_a.eq(self.i_a), self.o_swap.eq(self.i_swap)]
        above: Value | None = self.i_sum
        ring: tuple[Value, Value, int] | None = None
        if self.is_first:
            m.d.sync += self.o_clear.eq(self.i_clear)
            above, ring = None, (self.i_sum, self.o_clear, int(spec.turn > spec.k))
        a = self.i_a.as_signed() if spec.a_signed else self.i_a
        b = self.i_b.as_signed() if spec.b_signed else self.i_b
        down, total = self.blocks.place(m, a, b, self.i_load, self.i_swap, above, ring)
        m.d.comb += [self.o_down.eq(down), self.o.eq(total)]
        return m


class StationaryBlockColumn(SharedModule):
    """One column of blocks, closed to a ring in which the sums of a tile circulate.

    Parameters
    ----------
    spec : SystolicWsSpec
        What: the array.
    blocks : Stationary
        How: the device's.
    suffix : str
        How: of the names of its Verilog modules.

    Members
    -------
    i_a, i_b, i_load, i_swap : In
        As the elements', row 0 lowest.
    o_a, o_swap : Out
        As the elements', row 0 lowest.
    i_clear, o_clear : In(1), Out(1)
        As the first element's.
    o : Out
        Sum, :attr:`latency` cycles after the code of A for row 0.
    """

    i_a: Signal
    i_b: Signal
    i_load: Signal
    i_swap: Signal
    i_clear: Signal
    o_a: Signal
    o_swap: Signal
    o_clear: Signal
    o: Signal

    def __init__(self, spec: SystolicWsSpec, blocks: Stationary, suffix: str = ""):
        self.module = f"column{suffix}"
        self.spec = spec
        self.blocks = blocks
        self.first = StationaryBlock(spec, blocks, suffix, is_first=True)
        self.other = StationaryBlock(spec, blocks, suffix, is_first=False)
        super().__init__({
            "i_a": In(spec.k * spec.a_width),
            "i_b": In(spec.k * spec.b_width),
            "i_load": In(spec.k),
            "i_swap": In(spec.k),
            "i_clear": In(1),
            "o_a": Out(spec.k * spec.a_width),
            "o_swap": Out(spec.k),
            "o_clear": Out(1),
            "o": Out(spec.accumulator_width),
        })

    @property
    def shared_modules(self) -> tuple[SharedModule, ...]:
        """The elements."""
        return (self.first, self.other)[: self.spec.k]

    @property
    def latency(self) -> int:
        """Cycles from a code of A for row 0 to the sum."""
        return self.blocks.latency + self.spec.k - 1

    def elaborate(self, platform):
        m = Module()
        spec = self.spec
        ring = Signal(self.blocks.width)
        above: Value = ring
        for number in range(spec.k):
            pe = (self.other if number else self.first).place()
            m.submodules[f"pe{number}"] = pe
            if number == 0:
                m.d.comb += [pe.i_clear.eq(self.i_clear), self.o_clear.eq(pe.o_clear)]
            m.d.comb += [
                pe.i_a.eq(self.i_a.word_select(number, spec.a_width)),
                pe.i_b.eq(self.i_b.word_select(number, spec.b_width)),
                pe.i_load.eq(self.i_load[number]),
                pe.i_swap.eq(self.i_swap[number]),
                pe.i_sum.eq(above),
                self.o_a.word_select(number, spec.a_width).eq(pe.o_a),
                self.o_swap[number].eq(pe.o_swap),
            ]
            above = pe.o_down
        bottom: Value = pe.o
        m.d.comb += self.o.eq(bottom)
        # The first element itself has a register for one of these cycles.
        for number in range(spec.turn - spec.k - 1):
            held = Signal(spec.accumulator_width, name=f"held{number}", reset_less=True)
            m.d.sync += held.eq(bottom)
            bottom = held
        m.d.comb += ring.eq(bottom)
        return m
