"""Proof of the step of each processing element: the sum, cleared or kept, plus the product."""

import itertools
from typing import Any

import pytest
from amaranth import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data

from golden.pe.mac import MacSpec
from hw.arith.carry_save import CarrySave, Planes
from hw.catalog import Design
from hw.pe.element import Element
from hw.pe.mac import MacElement
from hw.pe.opt1 import Opt1Element
from hw.pe.opt2 import Opt2Element
from verif.support.cases import cover
from verif.support.formal import holds

CELLS: dict[str, type[Element]] = {"mac": MacElement, "opt1": Opt1Element, "opt2": Opt2Element}
SIGNS = list(itertools.product([True, False], repeat=2))


def step_holds(kind: str, spec: MacSpec, *, slip: int = 0, **build: Any) -> bool:
    """Prove sum' = (done ? 0 : sum) + a b from any state, with any enable; `slip` falsifies it."""

    def claim(m: Module, a: Signal, b: Signal, clear: Signal, enable: Value) -> Value:
        m.submodules.pe = pe = CELLS[kind](spec, **build)
        if pe.pipeline:
            enable = C(1, 1)  # else the product's registers here and there may differ at first
        m.d.comb += [
            pe.i_a.eq(pe.encode(m, a)),
            pe.i_b.eq(b),
            pe.i_clear.eq(clear),
            pe.en.eq(enable),
        ]
        width = spec.accumulator_width
        total, expected, product = Signal(width), Signal(width), Signal(width)
        # What the columns are worth: of a sum as it stands, and of planes that were not added up.
        m.d.comb += total.eq(worth(pe.layout, pe.o))
        ahead: Value = Signal(width, name="ahead")
        m.d.comb += ahead.eq(
            sum(
                numbers(a, spec.a_width, spec.a_signed)[pair]
                * numbers(b, spec.b_width, spec.b_signed)[pair]
                for pair in range(spec.k)
            )
        )
        for stage in range(pe.pipeline):
            late = Signal(width, name=f"late{stage}")
            m.d.sync += late.eq(ahead)
            ahead = late
        m.d.comb += product.eq(ahead)
        after = Mux(pe.o_done, 0, total) + product + C(slip, 2)
        m.d.sync += expected.eq(Mux(enable, after, total))
        return total == expected

    widths = spec.k * spec.a_width, spec.k * spec.b_width
    return holds(claim, *widths, 1, 1, cycles=1 + build.get("pipeline", 0))


def numbers(codes: Value, width: int, signed: bool) -> list[Value]:
    """Codes as integers."""
    parts = [codes[at : at + width] for at in range(0, len(codes), width)]
    return [part.as_signed() if signed else part for part in parts]


def worth(layout: CarrySave | Planes, number: data.View) -> Value:
    """Value of a sum, by the definition of its layout."""
    return columns_worth(layout, layout.columns(number))


def columns_worth(layout: CarrySave | Planes, columns: list[list[Value]]) -> Value:
    """Value of the columns of a sum: the bits of each times its weight."""
    parts = [(0, layout)] if isinstance(layout, CarrySave) else layout.parts
    total: Value = C(0, 1)
    rest = iter(columns)
    for weight, part in parts:
        own = [next(rest) for _ in range(part.width)]
        for row in range(2):
            bits = Cat(column[row] if row < len(column) else C(0, 1) for column in own)
            total = total + (bits << weight)
    return total


@pytest.mark.sample(5)
@pytest.mark.parametrize(
    ("kind", "a_signed", "b_signed", "encoding", "pipeline"),
    cover(["mac", "opt1"], SIGNS, ["booth", "ent", "none"], [0, 1, 2]),
)
def test_pe_step(kind: str, a_signed: bool, b_signed: bool, encoding: str, pipeline: int) -> None:
    spec = MacSpec(a_width=4, b_width=4, a_signed=a_signed, b_signed=b_signed, accumulator_width=11)
    assert step_holds(kind, spec, encoding=encoding, pipeline=pipeline)


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("a_signed", "b_signed", "encoding", "pipeline"),
    cover(SIGNS, ["booth", "ent", "none"], [0, 1]),
)
def test_pe_step_of_planes(a_signed: bool, b_signed: bool, encoding: str, pipeline: int) -> None:
    """Sums of several weights make long proofs: 4 x 4 bits and a wide sum is for `make prove`."""
    spec = MacSpec(a_width=3, b_width=3, a_signed=a_signed, b_signed=b_signed, accumulator_width=6)
    assert step_holds("opt2", spec, encoding=encoding, pipeline=pipeline)


@pytest.mark.sample(5)
@pytest.mark.parametrize("kind", CELLS)
@pytest.mark.parametrize(("a_width", "b_width", "width"), [(2, 2, 4), (5, 2, 6), (3, 5, 14)])
def test_pe_step_odd_widths(kind: str, a_width: int, b_width: int, width: int) -> None:
    if kind == "opt2":
        width = min(width, 6)  # sums of several weights make long proofs
    assert step_holds(kind, MacSpec(a_width=a_width, b_width=b_width, accumulator_width=width))


@pytest.mark.sample(3)
@pytest.mark.parametrize("kind", CELLS)
@pytest.mark.parametrize("encoding", ["booth", "ent", "none"])
@pytest.mark.parametrize(("k", "pipeline"), [(2, 0), (3, 1), (3, 3)])
def test_pe_step_of_several_pairs(kind: str, encoding: str, k: int, pipeline: int) -> None:
    spec = MacSpec(k=k, a_width=2, b_width=2, accumulator_width=5)
    assert step_holds(kind, spec, encoding=encoding, pipeline=pipeline)


@pytest.mark.sample(5)
@pytest.mark.parametrize(
    ("a_signed", "b_signed", "encoding", "pipeline"),
    cover(SIGNS, ["booth", "ent", "none"], [0, 1]),
)
def test_pe_step_with_a_counter(
    a_signed: bool, b_signed: bool, encoding: str, pipeline: int
) -> None:
    """From any state: also one in which the lower bits have overflowed and the upper ones wait."""
    spec = MacSpec(a_width=3, b_width=3, a_signed=a_signed, b_signed=b_signed, accumulator_width=12)
    assert step_holds("opt1", spec, encoding=encoding, pipeline=pipeline, upper="counter")


@pytest.mark.parametrize(("kind", "k", "width"), [("opt1", 3, 12), ("opt2", 2, 9)])
def test_pe_step_with_a_counter_of_several_pairs(kind: str, k: int, width: int) -> None:
    spec = MacSpec(k=k, a_width=2, b_width=2, accumulator_width=width)
    assert step_holds(kind, spec, encoding="ent", upper="counter")
    assert not step_holds(kind, spec, encoding="ent", upper="counter", slip=1)


def test_counter_needs_bits_above_the_products() -> None:
    spec = MacSpec(accumulator_width=17)
    Opt1Element(spec)
    with pytest.raises(ValueError, match="upper must be heap for a sum with fewer than 2 bits"):
        Opt1Element(spec, upper="counter")
    with pytest.raises(ValueError, match="upper must be one of heap, counter, not 'x'"):
        Opt1Element(spec, upper="x")
    with pytest.raises(ValueError, match="upper must be heap with mac, not 'counter'"):
        Design("systolic_os", {"pe": "mac", "upper": "counter"}).component()


@pytest.mark.parametrize("encoding", ["booth", "ent", "none", "operator"])
@pytest.mark.parametrize(("kind", "k"), [("opt1", 1), ("opt1", 3), ("opt2", 2)])
def test_sums_of_products_are_in_the_range_that_is_said(kind: str, k: int, encoding: str) -> None:
    """Of each weight, over all operands; a sum of several weights is within the sum of theirs."""
    for a_signed, b_signed in SIGNS:
        spec = MacSpec(
            k=k, a_width=4, b_width=3, a_signed=a_signed, b_signed=b_signed, accumulator_width=20
        )
        cell = CELLS[kind](spec, encoding=encoding)
        layout = cell.layout
        weights = [weight for weight, _ in layout.parts] if isinstance(layout, Planes) else [0]
        ranges = [cell.product_range(weight) for weight in weights]
        a, b = spec.a_format, spec.b_format
        products = [k * x * y for x in (a.low, a.high) for y in (b.low, b.high)]
        low, high = (
            sum(own[end] << weight for weight, own in zip(weights, ranges, strict=True))
            for end in (0, 1)
        )
        assert low <= min(products)
        assert high >= max(products)


@pytest.mark.sample(3)
@pytest.mark.parametrize("kind", CELLS)
@pytest.mark.parametrize("pipeline", [0, 1])
def test_pe_step_proof_can_fail(kind: str, pipeline: int) -> None:
    spec = MacSpec(a_width=3, b_width=3, accumulator_width=8)
    assert not step_holds(kind, spec, slip=1, pipeline=pipeline)


def test_opt1_keeps_few_carries() -> None:
    """For int8 and 32 bits: a third of a carry row, and a full one is never needed."""
    carries = Opt1Element(MacSpec()).layout.carries
    assert 0 < len(carries) <= 12


@pytest.mark.parametrize("kind", CELLS)
def test_pe_cell_rejects_wrong_kind(kind: str) -> None:
    with pytest.raises(TypeError, match="spec must be a MacSpec, not 8"):
        CELLS[kind](8)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"pipeline must be 0\.\.4, not True"):
        CELLS[kind](MacSpec(), pipeline=True)


@pytest.mark.parametrize("kind", CELLS)
def test_pe_cell_rejects_out_of_range(kind: str) -> None:
    with pytest.raises(ValueError, match=r"pipeline must be 0\.\.4, not 5"):
        CELLS[kind](MacSpec(), pipeline=5)
    with pytest.raises(
        ValueError, match="encoding must be one of booth, ent, none, operator, not 'x'"
    ):
        CELLS[kind](MacSpec(), encoding="x")
