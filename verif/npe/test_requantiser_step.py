"""Rounding and clamping of the requantiser against arithmetic, for all products."""

import pytest
from amaranth import C, Module, Mux, Signal, Value

from golden.npe.requantiser import ROUNDINGS, RequantiserSpec
from hw.npe.rounding.requantise_column import code, divide, rectify, rounds_first
from verif.support.formal import holds


def quotient(spec: RequantiserSpec, product: Value, shift: Value) -> Value:
    """Divide by 2^shift and round, as golden says, in Amaranth's arithmetic of unlimited width."""
    # Two more places than the product has bits leave what any more would.
    most = (1 << (len(product) + 2).bit_length()) - 1
    shift = Mux(shift > most, most, shift)[: most.bit_length()]
    half = C(1, 1) << shift >> 1
    single = (product + half) >> shift
    if spec.rounding == "single":
        return single
    if spec.rounding == "even":
        floor = product >> shift
        rest = (product - (floor << shift)) << 1
        unit = C(1, 1) << shift
        return floor + ((rest > unit) | ((rest == unit) & floor[0]))
    width = spec.multiplier_width
    first = (product + (1 << width - 1)) >> width
    right = Mux(shift > width, shift - width, 0)[: len(shift)]
    nudge = C(1, 1) << right >> 1
    double = Mux(first < 0, -((nudge - first) >> right), (first + nudge) >> right)
    return Mux(shift < width, single, double)


def rounding_holds(spec: RequantiserSpec, slip: int = 0) -> bool:
    """Prove codes for all products, shifts, zero points and limits."""

    def claim(
        m: Module,
        product: Signal,
        shift: Signal,
        zero: Signal,
        low: Signal,
        high: Signal,
        relu: Signal,
    ) -> Value:
        limits = [value.as_signed() if spec.out_signed else value for value in (zero, low, high)]
        exact = quotient(spec, product.as_signed(), shift) + limits[0] + slip
        least = Mux(relu & (limits[0] > limits[1]), limits[0], limits[1])
        expected = Signal(spec.out_width)
        clamped = Mux(exact < least, least, Mux(exact > limits[2], limits[2], exact))
        m.d.comb += expected.eq(clamped)
        nudged = Signal(len(product))
        half = rounds_first(spec, shift) << spec.multiplier_width - 1
        m.d.comb += nudged.eq(product + half)
        scaled = rectify(divide(m, spec, nudged, shift), relu)
        found = code(m, spec, scaled, zero, low, high, "sklansky")
        # The products of sums and multipliers leave room for the half.
        legal = (limits[1] <= limits[2]) & (~relu | (limits[0] <= limits[2]))
        room = ~(product[-1] ^ product[-2])
        return (found == expected) | ~legal | ~room

    width = spec.width + spec.multiplier_width
    codes = [spec.out_width] * 3
    return holds(claim, width, spec.shift_format.width, *codes, 1)


@pytest.mark.parametrize(
    ("rounding", "signed"), [*((rounding, True) for rounding in ROUNDINGS), ("double", False)]
)
def test_rounding_is_exact(rounding: str, signed: bool) -> None:
    spec = RequantiserSpec(
        rounding=rounding, out_signed=signed, width=7, multiplier_width=5, out_width=3
    )
    assert rounding_holds(spec)


@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_rounding_proof_can_fail(rounding: str) -> None:
    spec = RequantiserSpec(rounding=rounding, width=6, multiplier_width=4, out_width=3)
    assert not rounding_holds(spec, slip=1)


def test_roundings_differ() -> None:
    """A proof tells them apart: each is refuted as the others."""
    made = RequantiserSpec(rounding="even", width=6, multiplier_width=4, out_width=3)

    def claim(m: Module, product: Signal, shift: Signal) -> Value:
        up = divide(m, made, product, shift)
        single = RequantiserSpec(rounding="single", width=6, multiplier_width=4, out_width=3)
        return up == divide(m, single, product, shift)

    assert not holds(claim, 10, 6)
