"""A table of exponentials, and of norms' differences, for two lanes."""

from amaranth import Cat, Module, Signal, Value
from amaranth.lib.memory import Memory

from golden.npe.vector import VectorUnitSpec
from hw.npe.activations.summed_widths import SummedWidths

__all__ = ["SummedTable"]


class SummedTable:
    """Looks operands of products up.

    Words are a mantissa, shifted up by what its octaves leave, and above it the number of the
    octave of :class:`~hw.npe.activations.summed_widths.SummedWidths`; of norms, the difference,
    two's complement, above zeros.

    Parameters
    ----------
    spec : widths.
    widths : where mantissas are.

    Members
    -------
    memory : a submodule, which gets a port for each lane.
    width : bits of an operand in a word.
    """

    WIDTH = 8
    """Most bits of a value."""

    def __init__(self, spec: VectorUnitSpec, widths: SummedWidths):
        below = spec.width + 1
        mantissa = widths.left + spec.scale_width + 2 + widths.span - 1
        self.width = max(mantissa, below + spec.MEAN_FRACTION if widths.norms else 0)
        shape = self.width + widths.octave
        words = [self._power(spec, widths, number) for number in range(1 << below)]
        if widths.norms:
            high = 1 << self.width
            words += [
                (number - (number >> spec.width << below) << spec.MEAN_FRACTION) % high
                for number in range(1 << below)
            ]
        self.memory: Memory[int, Value] = Memory(shape=shape, depth=len(words), init=words)

    def _power(self, spec: VectorUnitSpec, widths: SummedWidths, number: int) -> int:
        """Return the word of a difference that is not negative."""
        below = number % (1 << spec.width)
        whole, rest = divmod(below + (below + 1 >> 1) - (below + 15 >> 4), 1 << spec.scale_width)
        octave, places = divmod(whole, widths.span)
        if octave >= widths.octaves:
            return 0
        mantissa = (2 << spec.scale_width) - rest << widths.left + widths.span - 1 - places
        return mantissa | octave << self.width

    def read(
        self, m: Module, difference: Value, norm: Value, move: Value, name: str
    ) -> tuple[Value, Value]:
        """Return the operand and the octave of a difference, a cycle later."""
        port = self.memory.read_port()
        word = Signal(len(port.data), name=name)
        address = Cat(difference, norm)[: len(port.addr)]
        m.d.comb += [port.addr.eq(address), port.en.eq(move), word.eq(port.data)]
        return word[: self.width], word[self.width :]
