"""OPT2: partial products of equal digit weight are accumulated first, and shifted once."""

from golden.pe.opt2 import Opt2Spec
from hw.lib.evidence import ELEMENT
from hw.pe.element_stream import StreamPe
from hw.pe.opt1 import Opt1Element

__all__ = ["Opt2", "Opt2Element"]


class Opt2Element(Opt1Element):
    """Compresses the partial products of each digit of a, over all k pairs, into one accumulator.

    Same-weight reduction of the HPCA 2025 bit-weight paper (OPT2): a narrow tree and a carry-save
    accumulator for each digit weight; these are shifted and added once per result, outside. An
    accumulator of weight 2^w is kept modulo 2^(accumulator_width - w), which is exact for the
    result. Members: see :class:`~hw.pe.element.Element`; ``o`` has a plane for each weight.
    """

    module = "opt2"
    SEPARATE = True


class Opt2(StreamPe):
    """Sums products of k operand pairs per cycle, digit by digit, in carry-save form.

    Computes :func:`golden.pe.opt2.opt2`, exactly: the sum is ``o.sum + o.carry`` modulo
    2^accumulator_width.

    Examples
    --------
    >>> pe = Opt2(Opt2Spec(k=4, a_width=8, b_width=8), encoding="booth")
    >>> pe.i.payload.shape()  # four codes of each operand, and the end of a run
    StructLayout({'a': 32, 'b': 32, 'last': 1})
    >>> pe.latency, pe.operations_per_cycle
    (3, 8)
    """

    SPEC = Opt2Spec
    SUMMARY = "k products per cycle, reduced per digit weight (OPT2): one shift at the end"
    BENCH = "tb_mac"
    EVIDENCE = ELEMENT

    CELL = Opt2Element
    BUILD = Opt2Element.BUILD
