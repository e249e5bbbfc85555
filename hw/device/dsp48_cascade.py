"""Sums inside DSP48 blocks: one, or two of them side by side."""

from collections.abc import Sequence

from amaranth import C, Cat, Module, Signal, Value

from golden.pe.mac import MacSpec
from hw.device.cascade import Cascade, Placed, count_wraps
from hw.device.dsp48_block import Dsp48Block, Registers
from hw.device.packing import Packing

__all__ = ["Dsp48Cascade"]

_SUM = 48
_PASSED = {True: ("A", 30), False: ("B", 18)}
"""Port of an operand, wide or not, and the width of its cascade."""


class Dsp48Cascade(Cascade):
    """An element's sums in its last block.

    With two columns that block holds P = H 2^s + L, for sums L and H of two columns. The lower s
    bits of P are those of L. What L has above them is counted beside the block, one cycle late;
    see :func:`hw.device.cascade.count_wraps`. L's count, taken off P's upper bits, leaves H.

    Sums of one product a beat move down from block to block. With more, blocks of an element pass
    their products on to the last one, and sums come to it by port C.

    Parameters
    ----------
    family : Dsp48
        The device.
    spec : MacSpec
        Operand and accumulator widths, and k.
    packing : Packing
        One or two columns.
    """

    def __init__(self, family: Dsp48Block, spec: MacSpec, packing: Packing):
        self.family = family
        self.spec = spec
        self.packing = packing
        self.count = 0
        if packing.columns == 2:
            self.count = max(spec.accumulator_width - packing.spacing, 0)
        self.width = _SUM + self.count
        self.b_width = _PASSED[not packing.a_wide][1] if spec.k == 1 else None
        self.latency = 3 if spec.k == 1 else spec.k + 1
        self.late = 0 if packing.columns == 1 else 2

    @classmethod
    def choose(cls, family: Dsp48Block, spec: MacSpec, columns: int) -> "Dsp48Cascade | None":
        """Take as many columns, up to these, as fit; None if not even one does."""
        a, b, width = spec.a_format, spec.b_format, spec.accumulator_width
        corners = [abs(x * y) for x in (a.low, a.high) for y in (b.low, b.high)]
        step = (spec.k * max(corners) - 1).bit_length()  # a beat adds up to 2^step
        # With more bits between the two, fewer are to be counted.
        spacings = range(_SUM - width, step + 1, -1) if columns == 2 else ()
        for spacing in spacings:
            pair = Packing(a_format=a, b_format=b, rows=1, columns=2, spacing=spacing, a_wide=False)
            if pair.fits(family.multiplier):
                return cls(family, spec, pair)
        for a_wide in (True, False):
            single = Packing(
                a_format=a, b_format=b, rows=1, columns=1, spacing=a.width + b.width, a_wide=a_wide
            )
            if single.fits(family.multiplier) and width <= _SUM:
                return cls(family, spec, single)
        return None

    def place(
        self,
        m: Module,
        a: Sequence[Value],
        b: Sequence[Value],
        keep: Value,
        above: Value | None,
        b_above: Value | None,
    ) -> Placed:
        """Place a block for each pair; the last one has the sums."""
        outputs: dict[str, Value] = {}
        for number, pair in enumerate(zip(a, b, strict=True)):
            wide, narrow = pair if self.packing.a_wide else pair[::-1]
            ports = {"PCIN": outputs["PCOUT"]} if number else {}
            if number < self.spec.k - 1:
                outputs = self.family.block(
                    m,
                    wide,
                    narrow,
                    C(bool(number), 3),
                    registers=Registers(a=min(number + 1, 2)),
                    ports=ports,
                )
        if self.spec.k == 1:
            outputs = self._only(m, wide, narrow, keep, above, b_above)
        else:
            # Kept: the sum, the chain's and the product; else the sum at port C and no product.
            if above is not None:
                ports["C"] = above[:_SUM]
            outputs = self.family.block(
                m,
                wide,
                narrow,
                Cat(C(1, 1), keep, C(0, 1)),
                w=Cat(keep, C(0, 1)),
                registers=Registers(a=2, z_inverted=2),
                ports=ports,
            )
        top = outputs["P"][self.packing.spacing - 2 : self.packing.spacing]
        other = C(0, self.count) if above is None else above[_SUM:]
        count = count_wraps(m, "count", top, keep, other, self.count)
        passed = None
        if self.b_width is not None:
            passed = outputs[f"{_PASSED[not self.packing.a_wide][0]}COUT"]
        down = outputs["PCOUT" if self.spec.k == 1 else "P"]
        return Placed(Cat(down, count), Cat(outputs["P"], count), passed)

    def _only(
        self,
        m: Module,
        wide: Value,
        narrow: Value,
        keep: Value,
        above: Value | None,
        b_above: Value | None,
    ) -> dict[str, Value]:
        """Place the block of an element of one product: it keeps P, or takes that from above."""
        ports: dict[str, Value] = {}
        passed = ""
        if b_above is not None:
            passed = _PASSED[not self.packing.a_wide][0]
            ports[f"{passed}CIN"] = b_above
        z = Cat(C(0, 1), keep, C(0, 1))
        if above is not None:
            ports["PCIN"] = above[:_SUM]
            z = Cat(keep, keep, C(0, 1))
        return self.family.block(
            m,
            wide,
            narrow,
            z,
            registers=Registers(a=2, z_inverted=int(above is not None)),
            ports=ports,
            passed=passed,
        )

    def finish(self, m: Module, sums: Value) -> list[Value]:
        """Take the sums apart."""
        width, spacing = self.spec.accumulator_width, self.packing.spacing
        if self.packing.columns == 1:
            return [sums[:width]]
        held = Signal(_SUM, name="held", reset_less=True)
        low, high = (Signal(width, name=name, reset_less=True) for name in ("low", "high"))
        count = sums[_SUM:]
        borrow: Value = count
        if self.spec.signed:
            borrow = count.as_signed() if self.count else held[spacing - 1].replicate(width)
        m.d.sync += [
            held.eq(sums[:_SUM]),
            low.eq(Cat(held[:spacing], count)),
            high.eq(held[spacing:] - borrow),
        ]
        return [low, high]
