"""Proof of counting up and down, in parts and as a whole."""

import pytest
from amaranth import Cat, Module, Mux, Signal, Value

from hw.arith.counter import count
from verif.support.formal import holds


def counts(*widths: int, slip: int = 0) -> bool:
    """Prove that parts of these widths, one after the other, count; `slip` falsifies it."""

    def claim(m: Module, number: Signal, move: Signal, downward: Signal) -> Value:
        up: Value = move & ~downward
        down: Value = move & downward
        expected = Signal(sum(widths))
        m.d.comb += expected.eq(number + Mux(move, Mux(downward, -1, 1), slip))
        found: list[Value] = []
        for width in widths:
            part = list(number[len(found) : len(found) + width])
            bits, up, down = count(m, part, up, down, f"part{len(found)}")
            found += bits
        leaves = Cat(
            up == (move & ~downward & number.all()), down == (move & downward & ~number.any())
        )
        return (Cat(found) == expected) & leaves.all()

    return holds(claim, sum(widths), 1, 1)


@pytest.mark.parametrize("widths", [(1,), (2,), (5,), (16,), (1, 1), (4, 3), (2, 4, 5)])
def test_counter_counts(widths: tuple[int, ...]) -> None:
    assert counts(*widths)


def test_counter_proof_can_fail() -> None:
    assert not counts(3, 3, slip=1)
