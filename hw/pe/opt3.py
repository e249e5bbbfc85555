"""OPT3: digit-serial multiply-accumulate that skips zero digits."""

from golden.pe.opt3 import Opt3Spec
from hw.lib.evidence import ELEMENT
from hw.pe.digit_element_stream import DigitStream

__all__ = ["Opt3"]


class Opt3(DigitStream):
    """Sums products of operand pairs, one non-zero digit of a per cycle.

    Bit-slice element of the HPCA 2025 bit-weight paper (OPT3): each element has its own recoder and
    digit selector. Computes :func:`golden.pe.opt3.opt3`, exactly.

    Examples
    --------
    >>> pe = Opt3(Opt3Spec(a_width=8, b_width=8))
    >>> pe.latency, round(pe.operations_per_cycle, 2)  # of normally distributed codes
    (13, 0.94)
    """

    SPEC = Opt3Spec
    SUMMARY = "digit-serial multiply-accumulate that skips zero digits (OPT3)"
    BENCH = "tb_mac"
    EVIDENCE = ELEMENT

    SHARED = 0
