"""Several products in a multiplier block: as many as a block takes, and right for all operands."""

from dataclasses import replace
from itertools import pairwise, product

import pytest
from amaranth import C, Cat, Module, Signal, Value, signed

from golden.formats.integer import IntFormat
from hw.device import NAMES, family
from hw.device.description import Multiplier
from hw.device.packing import Packing
from verif.support.cases import cover
from verif.support.formal import holds

LATTICE, SPARTAN, ARTIX = Multiplier(18, 18, 3), Multiplier(16, 16, 2), Multiplier(25, 18, 2)
ICE = Multiplier(16, 16, 3, half_width=8)


def integers(width: int, *, is_signed: bool = True) -> IntFormat:
    return IntFormat(width=width, signed=is_signed)


@pytest.mark.parametrize(
    ("block", "a", "b", "rows", "columns"),
    [
        (LATTICE, 8, 8, 1, 1),
        (LATTICE, 8, 4, 1, 2),
        (LATTICE, 4, 8, 2, 1),
        (LATTICE, 5, 5, 1, 2),
        (LATTICE, 3, 3, 2, 2),
        (LATTICE, 2, 2, 3, 2),
        (LATTICE, 16, 16, 1, 1),
        (ARTIX, 8, 8, 1, 2),
        (ARTIX, 4, 4, 2, 2),
        (SPARTAN, 8, 8, 1, 1),
        (ICE, 8, 8, 1, 2),
        (ICE, 9, 8, 1, 1),
        (ICE, 2, 2, 3, 2),
    ],
)
def test_packing_takes_as_many_products_as_fit(
    block: Multiplier, a: int, b: int, rows: int, columns: int
) -> None:
    found = Packing.densest(integers(a), integers(b), block)
    assert found.products >= rows * columns
    assert (found.rows, found.columns) == (rows, columns)


def test_packing_of_operands_that_do_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="must fit a multiplier block of 16 x 16 signed bits"):
        Packing.densest(integers(16, is_signed=False), integers(8), SPARTAN)


def products_are_right(packing: Packing) -> bool:
    """Prove that products are taken out as they were put in, whatever they are."""
    width = packing.spacing
    low, high = packing.bounds

    def claim(m: Module, *codes: Signal) -> Value:
        values = [code.as_signed() if low < 0 else code for code in codes]
        whole = Signal(width * packing.products)
        m.d.comb += whole.eq(sum(value << width * at for at, value in enumerate(values)))
        possible = Cat((value >= low) & (value <= high) for value in values).all()
        right: Value = C(1, 1)
        rows = packing.unpack(whole)
        for number, value in enumerate(values):
            field, carry = rows[number % packing.rows][number // packing.rows]
            right = right & (field + carry == value if len(carry) else field == value)
        return right | ~possible

    return holds(claim, *[width + 2] * packing.products)


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    ("a", "b", "a_signed", "b_signed", "block"),
    cover(
        [(8, 8), (8, 4), (4, 8), (3, 3), (2, 4), (2, 2), (5, 5)],
        [(True, True), (True, False), (False, True), (False, False)],
        [LATTICE, ARTIX],
    ),
)
def test_packed_products_are_right_for_all_operands(
    a: int, b: int, a_signed: bool, b_signed: bool, block: Multiplier
) -> None:
    packing = Packing.densest(
        integers(a, is_signed=a_signed), integers(b, is_signed=b_signed), block
    )
    assert products_are_right(packing)
    closer = replace(packing, spacing=packing.spacing - 1)
    if packing.products > 1:
        assert closer.is_exact == products_are_right(closer)


@pytest.mark.parametrize(("widths", "block"), [((8, 4), LATTICE), ((4, 4), ARTIX)])
def test_packed_operands_are_sums_of_their_codes(
    widths: tuple[int, int], block: Multiplier
) -> None:
    packing = Packing.densest(integers(widths[0]), integers(widths[1]), block)

    def claim(m: Module, *codes: Signal) -> Value:
        a, b = codes[: packing.rows], codes[packing.rows :]
        right: Value = C(1, 1)
        for whole, parts, spacing, width in (
            (packing.pack_a(m, a), a, packing.a_spacing, packing.a_width),
            (packing.pack_b(m, b), b, packing.b_spacing, packing.b_width),
        ):
            value = Signal(signed(width + 1))
            m.d.comb += value.eq(
                sum(code.as_signed() << spacing * at for at, code in enumerate(parts))
            )
            right = right & (whole == value)
        return right

    assert holds(claim, *[widths[0]] * packing.rows, *[widths[1]] * packing.columns)


@pytest.mark.parametrize("is_signed", [True, False])
@pytest.mark.parametrize("widths", [(2, 8), (3, 3), (2, 2), (4, 8)])
def test_codes_are_taken_out_of_operands(widths: tuple[int, int], is_signed: bool) -> None:
    a, b = (integers(width, is_signed=is_signed) for width in widths)
    packing = Packing.densest(a, b, LATTICE)
    assert packing.rows > 1

    def claim(m: Module, *codes: Signal) -> Value:
        found = packing.codes_of_a(packing.pack_a(m, codes))
        assert [code.shape().signed for code in found] == [is_signed] * packing.rows
        return Cat(found) == Cat(codes)

    assert holds(claim, *[widths[0]] * packing.rows)


@pytest.mark.parametrize("name", NAMES)
def test_packing_on_every_family(name: str) -> None:
    """Never fewer products for narrower operands, and every packing fits the block."""
    block = family(name).multiplier
    for a, b in product([2, 3, 4, 6, 8], repeat=2):
        packing = Packing.densest(integers(a), integers(b), block)
        wide, narrow = packing.a_width, packing.b_width
        if not packing.a_wide:
            wide, narrow = narrow, wide
        assert (wide <= block.a_width, narrow <= block.b_width) == (True, True)
    for fixed in (4, 8):
        counts = [
            Packing.densest(integers(width), integers(fixed), block).products
            for width in range(2, 9)
        ]
        assert all(more >= fewer for more, fewer in pairwise(counts))
