"""OPT4C: digit-serial multiply-accumulate with a shared digit selector."""

from golden.pe.opt4c import Opt4cSpec
from hw.lib.evidence import ELEMENT
from hw.pe.digit_element_stream import DigitStream

__all__ = ["Opt4c"]


class Opt4c(DigitStream):
    """Sums products of operand pairs, one non-zero digit of a per cycle.

    Element of the HPCA 2025 bit-weight paper's columns (OPT4C): recoder and digit selector are
    outside, shared by all elements of a column. Computes :func:`golden.pe.opt4c.opt4c`, exactly.

    Examples
    --------
    >>> pe = Opt4c(Opt4cSpec(a_width=8, b_width=8))
    >>> pe.i.payload.shape()
    StructLayout({'a': 8, 'b': 8, 'last': 1})
    >>> round(pe.operations_per_cycle, 2)
    0.94
    """

    SPEC = Opt4cSpec
    SUMMARY = "digit-serial, with a digit selector shared by a column of elements (OPT4C)"
    BENCH = "tb_mac"
    EVIDENCE = ELEMENT

    SHARED = 4
