"""Resolvers against addition."""

import random

import pytest
from amaranth import Cat, Module, Signal, Value

from hw.arith.adder import ADDERS, resolve
from verif.arith.test_bit_heap import rows_sum
from verif.support.cases import long
from verif.support.formal import holds


@pytest.mark.sample(8)
@pytest.mark.parametrize("adder", ADDERS)
@pytest.mark.parametrize("width", [1, 2, 3, 7, 16, 31, 32, 33, 65, *long([100])])
@pytest.mark.parametrize("carries", ["all", "some", "none"])
def test_resolve_equals_addition(adder: str, width: int, carries: str) -> None:
    keep = {"all": 1.0, "some": 0.4, "none": 0.0}[carries]
    draw = random.Random(width)
    heights = [2 if draw.random() < keep else 1 for _ in range(width)]

    def claim(m: Module, bits: Signal) -> Value:
        columns: list[list[Value]] = []
        start = 0
        for height in heights:
            columns.append(list(bits[start : start + height]))
            start += height
        return resolve(m, columns, adder) == rows_sum(columns)

    assert holds(claim, sum(heights))


def test_resolve_proof_can_fail() -> None:
    def claim(m: Module, x: Signal, y: Signal) -> Value:
        columns = [[a, b] for a, b in zip(x, y, strict=True)]
        return Cat(resolve(m, columns)) == (x | y)

    assert not holds(claim, 4, 4)


def test_resolve_rejects_unknown_adder() -> None:
    with pytest.raises(ValueError, match=r"adder must be one of sklansky, .*, not 'x'"):
        resolve(Module(), [[Signal()]], "x")
