"""Types of codes, and codes in the types of the engine."""

import numpy as np
import pytest

from carrysave.compiler.graph.code_types import narrowest
from carrysave.compiler.lowered.operands import Compiled
from carrysave.compiler.lowered.quantised import QuantisedProduct
from carrysave.compiler.target.target import Target
from hw.catalog import Design

TARGET = Target(Design.parse("coprocessor", {}))


@pytest.mark.parametrize("bits", [8, 16, 32])
def test_integers_take_the_narrowest_type_that_holds_them(bits: int) -> None:
    """At each end of a type, and one beyond."""
    low, high = -1 << bits - 1, (1 << bits - 1) - 1
    for ends in ((low, high), (low, 0), (0, high)):
        found = narrowest(np.array(ends))
        assert found.dtype == np.dtype(f"i{bits // 8}")
        assert found.tolist() == list(ends)
    for beyond in (low - 1, high + 1):
        found = narrowest(np.array([beyond]))
        assert (found.dtype.itemsize * 8, found.tolist()) == (2 * bits, [beyond])
    assert narrowest(np.zeros(0, np.int64)).dtype == np.int8


def _product(weights: np.ndarray, kind: "type[np.integer]") -> QuantisedProduct:
    return QuantisedProduct(
        name="n",
        operator="MatMulInteger",
        a="a",
        b="",
        y="y",
        weights=weights,
        a_zero=3,
        a_type=np.dtype(kind),
    )


def _sums(compiled: Compiled) -> np.ndarray:
    (work,) = compiled.works
    assert work.a is not None
    assert work.bias is not None
    assert work.a.min() >= -128
    assert work.a.max() <= 127
    return work.a.astype(np.int64) @ work.b.astype(np.int64) + work.bias


@pytest.mark.parametrize("kind", [np.uint8, np.int8])
@pytest.mark.parametrize("scale", [1, 2, 3])
def test_works_have_all_codes_and_all_weights(kind: "type[np.integer]", scale: int) -> None:
    """Codes less an offset wrap around in the engine's type; weights may come in terms."""
    ends = np.iinfo(kind)
    a = np.arange(ends.min, ends.max + 1).astype(kind).reshape(-1, 8)
    weights = np.arange(-127 * scale, 128 * scale, 5)[:48].reshape(8, -1)
    # Those before are of another product of the same shape.
    for own in (weights, weights[::-1], weights):
        found = _sums(_product(narrowest(own), kind).compile(TARGET, a, None, False))
        assert (found == (a.astype(np.int64) - 3) @ own).all()
