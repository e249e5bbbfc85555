"""Tables over weights: a column's entries, made one per cycle, and looked up."""

from amaranth import C, Cat, Module, Mux, Signal, Value
from amaranth.lib.wiring import In, Out

from golden.lut.over_weights import OverWeightsSpec
from hw.arith.adder import resolve
from hw.arith.bit_heap import BitHeap
from hw.lib.shared_module import SharedModule

__all__ = ["WeightLane", "WeightTable"]


class WeightTable(SharedModule):
    """Makes the sums of all subsets of a few weights, one per cycle, in Gray code order.

    Members
    -------
    i_load : In(1)
        Load new weights.
    i_b : In
        The weights, the first lowest.
    i_empty : In(1)
        The entry is the empty sum; the lines below are 0.
    i_toggle : In
        One-hot: the weight in which it differs from the previous entry.
    i_minus : In(1)
        That weight is removed, not added.
    o : Out
        An entry.
    """

    module = "weight_table"

    i_load: Signal
    i_b: Signal
    i_empty: Signal
    i_toggle: Signal
    i_minus: Signal
    o: Signal

    def __init__(self, spec: OverWeightsSpec, adder: str):
        self.spec = spec
        self.adder = adder
        super().__init__({
            "i_load": In(1),
            "i_b": In(spec.group * spec.b_width),
            "i_empty": In(1),
            "i_toggle": In(spec.group),
            "i_minus": In(1),
            "o": Out(spec.entry_format.width),
        })

    def elaborate(self, platform):
        m = Module()
        spec, width = self.spec, len(self.o)
        weights = Signal(len(self.i_b), reset_less=True)
        before = Signal(width, reset_less=True)
        with m.If(self.i_load):
            m.d.sync += weights.eq(self.i_b)
        m.d.sync += before.eq(self.o)
        chosen = Signal(spec.b_width)
        m.d.comb += chosen.eq(
            Cat(
                Cat(
                    weights[at * spec.b_width + weight] & self.i_toggle[at]
                    for at in range(spec.group)
                ).any()
                for weight in range(spec.b_width)
            )
        )
        sign = chosen[-1] if spec.b_signed else C(0, 1)
        more = Cat(chosen, sign.replicate(width - spec.b_width)) ^ self.i_minus.replicate(width)
        heap = BitHeap(width)
        heap.add_term(list(before & ~self.i_empty.replicate(width)), signed=False)
        heap.add_term(list(more), signed=False)
        heap.add_bit(self.i_minus, 0)
        m.d.comb += self.o.eq(resolve(m, heap.compress(m, [2] * width), self.adder))
        return m


class WeightLane(SharedModule):
    """Accumulates the entries that a row's keys look up, each weighted by its plane.

    The least significant plane comes first: the accumulator shifts right one bit per plane, and the
    bits shifted out are final. Recent entries are in a cache; hits are decided outside.

    Members
    -------
    en : In(1)
        Clock enable.
    i : In
        The entry read from the table.
    i_hit, i_line : In
        Hit: use the entry in this line of the cache, one-hot. Miss: store ``i`` there.
    i_look : In(1)
        A key is looked up.
    i_first, i_minus : In(1)
        Its plane is the row's first; it is subtracted.
    o : Out
        Sum of the row, one cycle after its last plane; two's complement.
    """

    module = "weight_lane"

    en: Signal
    i: Signal
    i_hit: Signal
    i_line: Signal
    i_look: Signal
    i_first: Signal
    i_minus: Signal
    o: Signal

    def __init__(self, spec: OverWeightsSpec, adder: str):
        self.spec = spec
        self.adder = adder
        fmt = spec.entry_format
        # An entry plus half of a sum, less than two entries.
        self.width = fmt.width + (not fmt.signed) + 1
        super().__init__({
            "en": In(1),
            "i": In(fmt.width),
            **({"i_hit": In(1), "i_line": In(spec.reuse)} if spec.reuse else {}),
            "i_look": In(1),
            "i_first": In(1),
            "i_minus": In(1),
            "o": Out(self.width + spec.a_width - 1),
        })

    def elaborate(self, platform):
        m = Module()
        spec, width = self.spec, self.width
        entry = self._entry(m)
        total = Signal(width, reset_less=True)
        done = Signal(spec.a_width - 1, reset_less=True)
        sign = entry[-1] if spec.b_signed else C(0, 1)
        more = Cat(entry, sign.replicate(width - len(entry))) ^ self.i_minus.replicate(width)
        half = Cat(total[1:], total[-1]) & ~self.i_first.replicate(width)
        heap = BitHeap(width)
        heap.add_term(list(half), signed=False)
        heap.add_term(list(more), signed=False)
        heap.add_bit(self.i_minus, 0)
        with m.If(self.en & self.i_look):
            m.d.sync += [
                total.eq(resolve(m, heap.compress(m, [2] * width), self.adder)),
                done.eq(Cat(done, total[0])[1:]),
            ]
        m.d.comb += self.o.eq(Cat(done, total))
        return m

    def _entry(self, m: Module) -> Value:
        """Select the entry read or the one in the cache."""
        spec = self.spec
        if not spec.reuse:
            return self.i
        stored = [
            Signal(len(self.i), name=f"kept{index}", reset_less=True) for index in range(spec.reuse)
        ]
        entry = Signal(len(self.i), name="found")
        m.d.comb += entry.eq(
            Cat(
                Cat(line & word[bit] for line, word in zip(self.i_line, stored, strict=True)).any()
                for bit in range(len(self.i))
            )
        )
        with m.If(self.en & self.i_look & ~self.i_hit):
            for line, word in zip(self.i_line, stored, strict=True):
                with m.If(line):
                    m.d.sync += word.eq(self.i)
        return Mux(self.i_hit, entry, self.i)
