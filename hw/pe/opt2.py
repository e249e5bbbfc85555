"""OPT2: digits of the same weight are added up first, over all of K, and shifted once."""

from golden.pe.opt2 import Opt2Spec
from hw.lib.evidence import ELEMENT
from hw.pe.element_stream import StreamPe
from hw.pe.opt1 import Opt1Element

__all__ = ["Opt2", "Opt2Element"]


class Opt2Element(Opt1Element):
    """Compresses the rows of each digit of a, of all k pairs, into a sum of that weight.

    Same-weight reduction of the HPCA 2025 bit-weight paper (OPT2): a narrow tree and a carry-save
    accumulator for each weight; the sums are shifted and added once for each result, outside. A
    sum of weight 2^w is kept modulo 2^(accumulator_width - w), which is all that the result needs
    and cannot overflow. Members: see :class:`PeCell`; ``o`` has a plane for each weight.
    """

    module = "opt2"
    SEPARATE = True


class Opt2(StreamPe):
    """Sums products of k operand pairs a cycle, digit by digit, in carry-save form.

    Computes :func:`golden.pe.opt2.opt2`, exactly: the sum is ``o.sum + o.carry`` modulo
    2^accumulator_width.
    """

    SPEC = Opt2Spec
    SUMMARY = "k products a cycle, digits of one weight added up first (OPT2): one shift at last"
    BENCH = "tb_mac"
    EVIDENCE = ELEMENT

    CELL = Opt2Element
    HOWS = Opt2Element.HOWS
