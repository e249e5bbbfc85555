"""Widths of the lanes of a vector unit for softmax and norms alone."""

from golden.npe.vector import VectorUnitSpec

__all__ = ["SummedWidths"]

BLOCK = 18
"""Bits of an operand of a device's multiplier block, two's complement."""


class SummedWidths:
    """Bits of what lanes hold, and where in a product its value is.

    A value is `spec.MEAN_FRACTION` places up in a product, and `span` more for each octave of its
    exponential, of `octaves`. A norm is one of `places` up, as its factor is shifted by less than
    `fine`.

    Parameters
    ----------
    spec : operations without requantisation.
    table : exponentials are of tables.

    Members
    -------
    operand, factor : of the factors of a product, two's complement.
    value : of a value, two's complement.
    point : of a code below its binary point.
    left : zeros below a mantissa that is shifted up by less than `span`.
    octave : of the number of an exponential's octave, of `span` places.
    places : of a norm, by the window in which it is.
    fine : shifts of a norm's factor.
    least : shift of a norm.
    """

    def __init__(self, spec: VectorUnitSpec, *, table: bool = False):
        self.softmax, self.norms = "softmax" in spec.built, spec.builds(spec.NORMS)
        operand = factor = value = 0
        self.point = self.octaves = self.span = 1
        self.left = 0
        if self.softmax:
            self.point = spec.carry_width
            spare = spec.MEAN_FRACTION + spec.carry_width - spec.scale_width - 5
            # A power of two where octaves are computed; else as many as a multiplier takes.
            self.span = spare if table else 8
            self.left = spare - self.span
            operand = self.left + spec.scale_width + 2 + self.span - 1 + 1
            factor = spec.reciprocal_width + 2
            value = spec.exponential_width + 2
            self.octaves = -(-(spec.exponential_width + 1) // self.span)
        self.octave = (self.octaves - 1).bit_length()
        self.fine, self.places = 1, [0]
        if self.norms:
            one = spec.reciprocal_width - 1
            self.fine = max(BLOCK - spec.reciprocal_width, 4)
            shift = one + spec.MEAN_FRACTION - spec.norm_fraction
            # The least deviation is near the root of 1 / length, the greatest that of one value.
            least = shift - ((spec.length - 1).bit_length() + 1) // 2
            most = shift + spec.width - 1
            windows = -(-(most - least + 1) // self.fine)
            self.places = [most - self.fine * window for window in reversed(range(windows))]
            operand = max(operand, spec.width + 1 + spec.MEAN_FRACTION)
            factor = max(factor, spec.reciprocal_width + self.fine, spec.width + 1)
            value = max(value, 2 * spec.width, self.point + spec.out_width + 1)
        self.least = max(self.places[0] - self.fine + 1, 0)
        self.operand, self.factor, self.value = operand, factor, value
