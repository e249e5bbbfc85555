"""Sum of a lane in two parts, of which the upper one is clocked only when it moves."""

from collections.abc import Sequence
from dataclasses import dataclass

from amaranth import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data

from golden.npe.lane import LaneSpec
from hw.arith.adder import resolve
from hw.arith.bit_heap import BitHeap
from hw.arith.carry_save import CarrySave
from hw.npe.lane.widths import magnitudes
from hw.pe.element import ACCUMULATOR_ARRIVAL

__all__ = ["GatedSum", "Terms", "exact"]


@dataclass(frozen=True)
class Terms:
    """What a cycle adds to a sum.

    Members
    -------
    lower : heap of the lower part, two bits wider than it. A product of integers is there as a
        signed number, of others the lowest bits.
    upper : rows of the upper part, of products that are not of integers; else 0.
    wide : the product is not one of integers.
    """

    lower: BitHeap
    upper: Sequence[Value]
    wide: Value


def exact(spec: LaneSpec) -> tuple[str, ...]:
    """Name the formats whose codes are integers: their products are not shifted."""
    return tuple(fmt.name for fmt in spec.elements if set(magnitudes(fmt)) == {0})


class GatedSum:
    """Adds to a sum; products of integers move its upper part only where the lower one overflows.

    What the lower part overflows by, -1, 0 or 1, is added to the upper one a cycle later, and is a
    second row of the sum in the meantime. So glitches of the lower adder do not reach the upper
    one, whose registers have a clock gate. Products that are shifted reach both parts. All products
    of a sum are of the same formats.

    Parameters
    ----------
    spec : LaneSpec
        What: formats, width.
    adder : str
        How: carry propagation in both parts.

    Members
    -------
    low : bits of the lower part: those of the greatest sum of a word's products of integers.
    layout : of the sum.
    """

    def __init__(self, spec: LaneSpec, adder: str):
        self.adder = adder
        names = exact(spec)
        most = {fmt.name: max(magnitudes(fmt).values()) for fmt in spec.elements}
        reached = [0]
        wide = [0]
        for pair in spec.pairs:
            formats = [spec.elements[index].name for index in pair]
            if set(formats) <= set(names):
                reached.append(spec.codes(*pair) * most[formats[0]] * most[formats[1]])
            else:
                wide.append(spec.codes(*pair))
        self.low = max(reached).bit_length()
        self.rows = max(wide)
        if not names or self.low + 2 + self.rows > spec.accumulator_width:
            raise ValueError(
                "accumulation must be carry_save or resolved for a sum without bits above those"
                f" that products of integers reach, not 'gated' with {self.low} of"
                f" {spec.accumulator_width} bits"
            )
        own_bits = max(self.rows, 1)
        self.width = spec.accumulator_width
        self.layout = CarrySave([1] * self.low + [2] * own_bits, self.width - self.low - own_bits)

    def add(self, m: Module, terms: Terms, columns: list[list[Value]]) -> list[list[Value]]:
        """Add to a sum, given and returned as columns of :attr:`layout`."""
        low, own_bits = self.low, max(self.rows, 1)
        heap = terms.lower.copy()
        heap.add_columns(columns[:low], arrival=ACCUMULATOR_ARRIVAL)
        total = resolve(m, heap.compress(m, [2] * heap.width), self.adder)
        over = total[low:]
        below = over[1] & ~terms.wide if self.rows > 1 else over[1]

        late = [columns[low + at][1] for at in range(own_bits)]
        minus = columns[-1][1]
        upper = BitHeap(self.width - low)
        upper.add_columns([[column[0]] for column in columns[low:]])
        rows = [*terms.upper] or [C(0, upper.width)]
        # There is either a row of a product, or -1 of a former one.
        rows[0] = Cat(rows[0][:own_bits], (bit | minus for bit in rows[0][own_bits:]))
        for row in rows:
            upper.add_term(list(row), signed=False)
        for at in range(1, own_bits):
            upper.add_bit(late[at], at)
        pairs = (
            upper.compress(m, [2] * upper.width)
            if len(rows) > 1
            else [[bit for bit, _ in column] for column in upper.columns]
        )
        moved = resolve(m, [[late[0], late[0]], *pairs], self.adder)[1:]
        seconds = [*over[:own_bits], *[below] * (self.width - low - own_bits)]
        return [
            *([bit] for bit in total[:low]),
            *([bit, second] for bit, second in zip(moved, seconds, strict=True)),
        ]

    def accumulate(self, m: Module, enable: Value, done: Value, terms: Terms) -> data.View:
        """Accumulate terms; return the sum, which is cleared when it is `done`."""
        low, width = self.low, self.width
        lower = Signal(low, name="lower", reset_less=True)
        upper = Signal(width - low, name="upper", reset_less=True)
        late = Signal(len(self.layout.carries), name="late", reset_less=True)
        total, start = (
            data.View(self.layout, Signal(self.layout.size, name=name))
            for name in ("total", "kept")
        )
        m.d.comb += [
            total.as_value().eq(Cat(lower, upper, late)),
            start.as_value().eq(Mux(done, 0, total.as_value())),
        ]
        added = self.layout.pack(self.add(m, terms, self.layout.columns(start)))
        with m.If(enable):
            m.d.sync += [lower.eq(added[:low]), late.eq(added[width:])]
            with m.If(done | terms.wide | late.any()):
                m.d.sync += upper.eq(added[low:width])
        return total
