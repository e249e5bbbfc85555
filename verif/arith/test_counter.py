"""Proof of the up/down counter, in all widths of a group more and less."""

import pytest
from amaranth import Module, Mux, Signal, Value

from hw.arith.counter import count
from verif.support.formal import holds


def counts(width: int, slip: int = 0) -> bool:
    """Prove that it counts, from all numbers; `slip` falsifies it."""

    def claim(m: Module, number: Signal, move: Signal, down: Signal) -> Value:
        expected = Signal(width)
        m.d.comb += expected.eq(number + Mux(move, Mux(down, -1, 1), slip))
        return count(m, number, move, down) == expected

    return holds(claim, width, 1, 1)


@pytest.mark.parametrize("width", [1, 2, 3, 5, 6, 9, 16])
def test_counter_counts(width: int) -> None:
    assert counts(width)


def test_counter_proof_can_fail() -> None:
    assert not counts(6, slip=1)
