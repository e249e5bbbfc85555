"""OPT4C: digit-serial multiply-accumulate whose digits are selected for many at once."""

from golden.pe.opt4c import Opt4cSpec
from hw.lib.evidence import ELEMENT
from hw.pe.digit_element_stream import DigitStream

__all__ = ["Opt4c"]


class Opt4c(DigitStream):
    """Sums products of operand pairs, one non-zero digit of a each cycle.

    Element of the HPCA 2025 bit-weight paper's columns (OPT4C): recoder and selection of digits
    are outside, shared by the elements of a column, of which this is one. Computes
    :func:`golden.pe.opt4c.opt4c`, exactly.
    """

    SPEC = Opt4cSpec
    SUMMARY = "the same with digits selected outside, for a column of elements (OPT4C)"
    BENCH = "tb_mac"
    EVIDENCE = ELEMENT

    SPEC = Opt4cSpec
    SHARED = 4
