"""Proofs beyond 4 x 4 bits: products of 8 x 8, and with `make prove` steps of 6 x 6."""

from collections.abc import Sequence
from itertools import product

import pytest
from amaranth import C, Module, Signal, Value

from golden.formats.integer import IntFormat
from golden.pe.mac import MacSpec
from verif.pe.test_pe_step import CELLS, columns_worth, step_holds
from verif.support.cases import long
from verif.support.formal import holds
from verif.support.vectors import corners

CORNERS = [code % 256 for code in corners(IntFormat(width=8)).tolist()]


def makes_the_product(kind: str, encoding: str, codes: Sequence[int], slip: int = 0) -> bool:
    """Prove that the step makes a x b of a sum that is zero, for these a and any b."""
    spec = MacSpec(accumulator_width=18)
    cell = CELLS[kind](spec, encoding=encoding)

    def claim(m: Module, b: Signal) -> Value:
        right: Value = C(1, 1)
        zeros: list[list[Value]] = [
            [C(0, 1)] * len(column) for column in cell.layout.columns(cell.layout.register("zero"))
        ]
        for a in codes:
            coded = Signal(len(cell.i_a), name=f"coded{a}")
            found, expected = Signal(18, name=f"found{a}"), Signal(18, name=f"expected{a}")
            m.d.comb += coded.eq(cell.encode(m, C(a, 8)))
            after = cell.step(m, C(1, 1), coded, b, zeros)
            m.d.comb += found.eq(columns_worth(cell.layout, after))
            m.d.comb += expected.eq(b.as_signed() * (a - 256 if a > 127 else a) + slip)
            right = right & (found == expected)
        return right

    return holds(claim, 8)


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("kind", "encoding"), long([*product(CELLS, ["booth", "ent", "none"])], 1, 2, 3, 5, 6, 7)
)
def test_pe_makes_the_product_of_corners(kind: str, encoding: str) -> None:
    assert makes_the_product(kind, encoding, CORNERS)


@pytest.mark.prove
@pytest.mark.parametrize("kind", CELLS)
@pytest.mark.parametrize("encoding", ["booth", "ent", "none"])
@pytest.mark.parametrize("start", range(0, 256, 64))
def test_pe_makes_the_product(kind: str, encoding: str, start: int) -> None:
    assert makes_the_product(kind, encoding, range(start, start + 64))


@pytest.mark.parametrize("kind", CELLS)
def test_pe_product_proof_can_fail(kind: str) -> None:
    assert not makes_the_product(kind, "booth", [0xAB], slip=1)


@pytest.mark.prove
@pytest.mark.parametrize("kind", CELLS)
@pytest.mark.parametrize("encoding", ["booth", "ent", "none"])
def test_pe_step_of_wide_operands(kind: str, encoding: str) -> None:
    # Sums of several weights make longer proofs, and one of each bit the longest: 4 bits took
    # more than 25 minutes.
    size = 6 if kind != "opt2" else 3 if encoding == "none" else 4
    spec = MacSpec(a_width=size, b_width=size, accumulator_width=2 * size + 2)
    assert step_holds(kind, spec, encoding=encoding)
