"""OPT4E: digit-serial multiply-accumulate of four lanes with one accumulator."""

from golden.pe.opt4e import Opt4eSpec
from hw.lib.evidence import ELEMENT
from hw.pe.digit_element_stream import DigitStream

__all__ = ["Opt4e"]


class Opt4e(DigitStream):
    """Sums products of operand pairs, up to four non-zero digits of a per cycle.

    Element of the HPCA 2025 bit-weight paper's columns (OPT4E): as OPT4C, but the terms of four
    lanes are compressed together with the sum. Computes :func:`golden.pe.opt4e.opt4e`, exactly.

    Examples
    --------
    >>> pe = Opt4e(Opt4eSpec(a_width=8, b_width=8))
    >>> pe.i.payload.shape()  # four codes of each operand, for four lanes
    StructLayout({'a': 32, 'b': 32, 'last': 1})
    >>> round(pe.operations_per_cycle, 2)
    2.68
    """

    SPEC = Opt4eSpec
    SUMMARY = "digit-serial, with four digit lanes into one accumulator (OPT4E)"
    BENCH = "tb_mac"
    EVIDENCE = ELEMENT

    SHARED = 4
