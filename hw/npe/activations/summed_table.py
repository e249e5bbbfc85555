"""Tables of exponentials, and of norms' differences and squares, each for two lanes."""

from amaranth import C, Cat, Module, Signal, Value
from amaranth.lib.memory import Memory

from golden.npe.vector import VectorUnitSpec
from hw.npe.activations.summed_step import SummedFactors, SummedStep
from hw.npe.activations.summed_widths import SummedWidths

__all__ = ["SummedTable"]


class SummedTable:
    """Looks up the factors of products.

    Words are a mantissa, shifted up by what its octaves leave, and above it the number of the
    octave of :class:`~hw.npe.activations.summed_widths.SummedWidths`; or a square; or, of norms,
    the difference, inverted, above zeros. Differences of a softmax are not negative;
    where they would be are squares.

    Parameters
    ----------
    m : where the gates go.
    spec, widths : where mantissas are.
    step : what is done.
    factor : of all lanes; of squares :attr:`ONE`.
    """

    WIDTH = 8
    """Most bits of a value."""
    ONE = 1 << VectorUnitSpec.MEAN_FRACTION
    """Factor of what is not changed."""

    def __init__(
        self,
        m: Module,
        spec: VectorUnitSpec,
        widths: SummedWidths,
        step: SummedStep,
        factor: Value,
    ):
        self.spec, self.widths, self.step = spec, widths, step
        squares = step.squaring & step.norm & ~step.scaling
        self.difference: Value = step.norm & ~squares
        self.width = widths.left + spec.scale_width + 2 + widths.span - 1
        values, negative = range(1 << spec.width), range(-1 << spec.width, 0)
        lowest = self.lowest(spec)
        if not widths.norms:
            self.words = [self._power(number) for number in values]
        else:
            low = spec.MEAN_FRACTION
            self.width = max(self.width, spec.width + 1 + low, 2 * spec.width)
            self.words = [self._power(number) for number in values]
            self.words += [(lowest - number) ** 2 for number in negative]
            self.words += [(~number << low) % (1 << self.width) for number in (*values, *negative)]
        self.factor = Signal(widths.factor, name="a_factor", reset_less=True)
        with m.If(step.move):
            m.d.sync += self.factor.eq(factor)

    @staticmethod
    def lowest(spec: VectorUnitSpec) -> int:
        """Return what squares' values are subtracted from: all differences are negative."""
        return -1 - (1 << spec.width - 1)

    def lane(self, m: Module, lane: int, difference: Value) -> SummedFactors:
        """Return the factors of the next lane."""
        step, widths = self.step, self.widths
        if lane % 2 == 0:
            shape = self.width + widths.octave
            self.memory: Memory[int, Value] = Memory(
                shape=shape, depth=len(self.words), init=self.words
            )
            m.submodules[f"table{lane // 2}"] = self.memory
        port = self.memory.read_port()
        entry = Signal(len(port.data), name=f"found{lane}")
        address = Cat(difference, self.difference)[: len(port.addr)]
        m.d.comb += [port.addr.eq(address), port.en.eq(step.move), entry.eq(port.data)]
        word, octave = entry[: self.width], entry[self.width :]
        if widths.norms:
            # Mantissas and squares have no sign.
            word = Cat(word, word[-1] & step.norm)
        return SummedFactors(operand=word, octave=octave, keep=C(1, 1), factor=self.factor)

    def _power(self, below: int) -> int:
        """Return the word of an exponential, by what the value is below the greatest."""
        spec, widths = self.spec, self.widths
        whole, rest = divmod(below + (below + 1 >> 1) - (below + 15 >> 4), 1 << spec.scale_width)
        octave, places = divmod(whole, widths.span)
        if octave >= widths.octaves:
            return 0
        mantissa = (2 << spec.scale_width) - rest << widths.left + widths.span - 1 - places
        return mantissa | octave << self.width
