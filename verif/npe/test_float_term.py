"""Products of significands, proven equal to multiplication."""

import pytest
from amaranth import Module, Signal, Value
from amaranth.hdl import signed

from hw.arith.product import ENCODINGS
from hw.npe.floats.term import multiply_integers
from verif.support.formal import holds


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("a_signed", [False, True])
def test_products_of_integers(encoding: str, a_signed: bool) -> None:
    def claim(m: Module, a: Signal, b: Signal) -> Value:
        found = multiply_integers(m, a, b, a_signed=a_signed, encoding=encoding, adder="sklansky")
        exact = Signal(signed(10))
        m.d.comb += exact.eq((a.as_signed() if a_signed else a) * b)
        return found == exact[: len(found)]

    assert holds(claim, 5, 4)
