"""Winograd's inner product: an element and the corrections of its row and column, for all operands.

A sum that begins, less the corrections, is the sum of the products of k pairs.
"""

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest
from amaranth import C, Cat, Module, Signal, Value
from amaranth.sim import Simulator

from golden.formats.integer import IntFormat
from golden.pe.mac import MacSpec
from hw.device import family
from hw.pe.winograd_element import WinogradCorrection, WinogradElement, split
from verif.support.cases import long
from verif.support.formal import holds
from verif.support.vectors import corners

FAMILIES = ["ecp5", "gowin"]  # cells that are named, and what is left to the mapper
SIGNS = list(product([True, False], repeat=2))


def late(m: Module, value: Value, cycles: int) -> Value:
    """Return a value of so many cycles ago."""
    for _ in range(cycles):
        register = Signal(value.shape())
        m.d.sync += register.eq(value)
        value = register
    return value


def adds_products(spec: MacSpec, name: str, *fixed: Sequence[int], fabric: bool = False) -> bool:
    """Prove it for all operands; or for all of a1 and b0, with each of these pairs a0 and b1."""
    element = WinogradElement(spec, family(name), fabric=fabric)
    row = WinogradCorrection("row", element, spec.a_format)
    column = WinogradCorrection("column", element, spec.b_format)
    cycles = element.latency + 1

    def claim(m: Module, a: Value, b: Value) -> Value:
        m.submodules += [element, row, column]
        m.d.comb += [
            element.i_a.eq(a),
            element.i_b.eq(b),
            element.i_keep.eq(0),
            element.i_sums.eq(0),
            row.i.eq(a),
            row.i_keep.eq(0),
            row.i_sum.eq(0),
            column.i.eq(b),
            column.i_keep.eq(0),
            column.i_sum.eq(0),
        ]
        width = spec.accumulator_width
        total, expected = Signal(width), Signal(width)
        m.d.comb += total.eq(element.o_sums - row.o_sum - column.o_sum)
        pairs = zip(split(a, spec.a_format), split(b, spec.b_format), strict=True)
        m.d.comb += expected.eq(sum(x * y for x, y in pairs))
        return total == late(m, expected, cycles)

    if not fixed:
        return holds(claim, spec.k * spec.a_width, spec.k * spec.b_width, cycles=cycles)
    (a0, b1) = fixed[0]
    return holds(
        lambda m, x, y: claim(m, Cat(C(a0, spec.a_width), x), Cat(y, C(b1, spec.b_width))),
        spec.a_width,
        spec.b_width,
        cycles=cycles,
    )


def test_products_of_sums_are_sums_of_products() -> None:
    """Of degree one in each operand: right for 0 and 1 of each is right for all numbers."""
    for a0, a1, b0, b1 in product([0, 1], repeat=4):
        assert (a0 + b1) * (a1 + b0) - a0 * a1 - b0 * b1 == a0 * b0 + a1 * b1


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("name", "a_signed", "b_signed", "k", "a_width", "b_width"),
    [
        *(("ecp5", *signs, 2, 2, 2) for signs in SIGNS),
        *long([
            (name, *signs, *sizes)
            for name, signs, sizes in product(
                FAMILIES, SIGNS, [(2, 3, 3), (3, 2, 3), (4, 2, 2), (2, 4, 2)]
            )
        ]),
    ],
)
def test_element_adds_products(
    name: str, a_signed: bool, b_signed: bool, k: int, a_width: int, b_width: int
) -> None:
    spec = MacSpec(
        k=k,
        a_width=a_width,
        b_width=b_width,
        a_signed=a_signed,
        b_signed=b_signed,
        accumulator_width=a_width + b_width + k,
    )
    assert adds_products(spec, name)


@pytest.mark.sample(16)
@pytest.mark.parametrize(("a_signed", "b_signed"), SIGNS)
@pytest.mark.parametrize("k", range(2, 12))
def test_element_adds_any_number_of_pairs(k: int, a_signed: bool, b_signed: bool) -> None:
    """Even and odd numbers, and a code without another; simulated, for any that is a beat's."""
    spec = MacSpec(
        k=k, a_width=5, b_width=4, a_signed=a_signed, b_signed=b_signed, accumulator_width=14
    )
    element = WinogradElement(spec, family("gowin"))
    row = WinogradCorrection("row", element, spec.a_format)
    column = WinogradCorrection("column", element, spec.b_format)
    m = Module()
    m.submodules += [element, row, column]
    rng = np.random.default_rng(k)
    formats = spec.a_format, spec.b_format
    # The largest and the smallest codes first.
    values = [
        np.vstack([
            np.full(k, fmt.high),
            np.full(k, fmt.low),
            rng.integers(fmt.low, fmt.high, (20, k), endpoint=True),
        ])
        for fmt in formats
    ]
    due = (values[0] * values[1]).sum(axis=1)
    found: list[int] = []

    async def bench(ctx: Any) -> None:
        for beat in range(len(due) + element.latency + 1):
            for fmt, codes, ports in zip(
                formats, values, ((element.i_a, row.i), (element.i_b, column.i)), strict=True
            ):
                here = codes[beat] if beat < len(due) else codes[0]
                whole = sum(
                    int(code) % (1 << fmt.width) << fmt.width * at for at, code in enumerate(here)
                )
                for port in ports:
                    ctx.set(port, whole)
            sums = await ctx.tick().sample(element.o_sums, row.o_sum, column.o_sum)
            found.append((sums[2] - sums[3] - sums[4]) % (1 << spec.accumulator_width))

    simulator = Simulator(m)
    simulator.add_clock(1e-8)
    simulator.add_testbench(bench)
    simulator.run()
    assert found[element.latency + 1 :] == [int(one) % (1 << spec.accumulator_width) for one in due]


@pytest.mark.parametrize("name", FAMILIES)
def test_element_without_a_block_adds_products(name: str) -> None:
    spec = MacSpec(k=2, a_width=3, b_width=2, accumulator_width=8)
    assert adds_products(spec, name, fabric=True)


CORNERS = [code % 256 for code in corners(IntFormat(width=8)).tolist()]


@pytest.mark.parametrize(
    ("name", "pair"),
    long([*product(FAMILIES, product(CORNERS, repeat=2))]),
)
def test_element_adds_products_of_eight_bits(name: str, pair: tuple[int, int]) -> None:
    assert adds_products(MacSpec(k=2, accumulator_width=20), name, pair)
