"""Golden vector arithmetic against exact fractions, and against the functions it approximates."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from golden.npe.elements import add, gate, multiply, scale, shifted
from golden.npe.norms import norm
from golden.npe.requantiser import Requantisation, RequantiserSpec, dyadic
from golden.npe.vector import GATES, PAIRS, VectorUnitSpec, narrowed, softmax
from golden.npe.vector_unit import cycles, vector_unit

LENGTHS = (1, 2, 3, 4, 7, 63, 64, 65, 197, 1000, 2047, 4095, 4096)
WIDTHS: list[dict[str, Any]] = [
    {},
    {"signed": True},
    {"out_width": 16},
    {"width": 12, "scale_width": 8},
    {"scale_width": 0},
]


def rows_of(spec: VectorUnitSpec, length: int, seed: int = 0) -> np.ndarray:
    """Flat, nearly flat, one-hot, uniform and normal rows of one length."""
    rng = np.random.default_rng((seed, length))
    low, high = spec.in_format.low, spec.in_format.high
    rows = [np.full(length, code) for code in (low, 0, high)]
    for below in (1, 3 << spec.scale_width, high - low):
        one_hot = np.full(length, max(high - below, low))
        one_hot[rng.integers(length)] = high
        rows += [one_hot, high - rng.integers(0, min(below, high - low) + 1, length)]
    for deviation in (0.3, 1, 2, 3):
        drawn = np.rint(rng.normal(0, deviation, length) * 2**spec.scale_width)
        rows.append(np.clip(drawn, low, high).astype(np.int64))
    return np.stack(rows)


def exact_softmax(spec: VectorUnitSpec, row: list[int]) -> tuple[list[int], int]:
    """Follow the definition in fractions, one value after the other."""
    unit, one = 1 << spec.scale_width, 1 << spec.carry_width
    exponentials = []
    for x in row:
        turned = (below := x - max(row)) + math.floor(Fraction(below, 2))
        turned -= math.floor(Fraction(below, 16))
        whole, rest = divmod(-turned, unit)
        exponentials.append(Fraction(2 * unit - rest, 2 * unit) / 2**whole)
    top = 1 << spec.exponential_width
    share = Fraction(top, sum(math.floor(e * top) for e in exponentials))
    exponent = 0
    while share * 2**exponent < 2 ** (spec.magnitude_width - 1):
        exponent += 1
    factor = Fraction(math.floor(share * 2**exponent * 16), 16)
    codes, carried = [], Fraction(1, 2)
    for e in exponentials:
        carried += Fraction(math.floor(factor * e * one), one)
        codes.append(min(math.floor(carried), spec.out_format.high))
        carried -= math.floor(carried)
    return codes, exponent


@pytest.mark.parametrize("fields", WIDTHS, ids=str)
def test_softmax_matches_definition(fields: dict[str, Any]) -> None:
    spec = VectorUnitSpec(**fields)
    for length in (1, 2, 3, 17, 197):
        rows = rows_of(spec, length)
        codes, exponents = softmax(spec, rows)
        expected = [exact_softmax(spec, row) for row in rows.tolist()]
        assert [(row, at) for row, at in zip(codes.tolist(), exponents, strict=True)] == expected


@pytest.mark.parametrize("length", [1, 2, 3])
def test_softmax_of_all_short_rows(length: int) -> None:
    spec = VectorUnitSpec(width=4, scale_width=1, length=length)
    rows = np.array(list(itertools.product(range(-8, 8), repeat=length)))
    expected = [exact_softmax(spec, row) for row in rows.tolist()]
    assert [(row.tolist(), at) for row, at in zip(*softmax(spec, rows), strict=True)] == expected


@pytest.mark.parametrize("fields", WIDTHS, ids=str)
def test_softmax_sums_to_one(fields: dict[str, Any]) -> None:
    """Within the stated error, and so within 2 %, for rows of all kinds."""
    spec = VectorUnitSpec(**fields)
    assert spec.sum_error < 0.02
    worst = 0.0
    for length in LENGTHS:
        codes, exponents = softmax(spec, rows_of(spec, length))
        sums = codes.sum(axis=1) / 2.0**exponents
        worst = max(worst, abs(sums - 1).max())
        assert codes.max(axis=1).min() >= 2 ** (spec.magnitude_width - 1)
    assert spec.sum_error / 8 < worst < spec.sum_error


@pytest.mark.parametrize("signed", [False, True])
def test_softmax_of_equal_values_is_equal_at_every_length(signed: bool) -> None:
    """A code differs from its value by less than one; and rows sum to one."""
    spec = VectorUnitSpec(signed=signed)
    for length in range(1, 4097):
        codes, exponent = softmax(spec, np.full(length, 5))
        value = 2.0**exponent / length
        assert abs(codes - value).max() < (1 + 2**-3) + value / 2**10
        assert abs(codes.mean() / value - 1) < min(spec.sum_error, 0.01 * (1 + signed))


@pytest.mark.parametrize(
    ("scale_width", "length", "error"), [(4, 8, 0.022), (4, 512, 0.017), (8, 64, 0.019)]
)
def test_softmax_is_near_softmax(scale_width: int, length: int, error: float) -> None:
    """Bounds are rounded-up measurements, of normal rows of all deviations."""
    rng = np.random.default_rng(4)
    spec = VectorUnitSpec(width=12, scale_width=scale_width)
    worst = 0.0
    for deviation in (0.3, 1, 2):
        x = np.rint(rng.normal(0, deviation, (300, length)) * 2**scale_width).astype(int)
        codes, exponents = softmax(spec, x)
        exact = np.exp(x / 2.0**scale_width)
        exact /= exact.sum(axis=1, keepdims=True)
        worst = max(worst, abs(codes / 2.0 ** exponents[:, None] - exact).max())
    assert 0.9 * error < worst < error


@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize("fields", [{"width": 4}, {"width": 4, "out_width": 12}], ids=str)
def test_norm_of_all_short_rows(centred: bool, fields: dict[str, Any]) -> None:
    """Against floats: half a code, and the errors of mean and root that are stated."""
    spec = VectorUnitSpec(**fields)
    for length in (1, 2, 3):
        rows = np.array(list(itertools.product(range(-8, 8), repeat=length)))
        check_norm(spec, rows, centred)


@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize("width", [8, 16])
def test_norm_at_all_lengths(centred: bool, width: int) -> None:
    spec = VectorUnitSpec(width=width, out_width=width)
    for length in LENGTHS:
        check_norm(spec, rows_of(spec, length), centred)


def check_norm(spec: VectorUnitSpec, rows: np.ndarray, centred: bool) -> None:
    """Compare with floats, which are exact to 2^-40 or so."""
    found = norm(spec, rows, centred=centred)
    length = rows.shape[1]
    mean = rows.sum(axis=1) * centred / length
    power = length * (rows * rows).sum(axis=1) - (rows.sum(axis=1) * centred) ** 2
    assert not found[power == 0].any()
    rows, mean, power, found = (part[power > 0] for part in (rows, mean, power, found))
    divisor = np.sqrt(power)
    unit = 2.0**spec.norm_fraction
    exact = (rows - mean[:, None]) * length / divisor[:, None] * unit
    # Bounds: of rounding, of the reciprocal, of the root, of the mean.
    bound = 0.5 + abs(exact) * (2.0 ** (1 - spec.reciprocal_width) + (2**-6 / divisor)[:, None])
    bound += (unit * length / divisor / 2**8)[:, None]
    high = 2 ** (spec.out_width - 1) - 1
    assert (abs(found - np.clip(exact, -high - 1, high)) <= bound + 1e-6).all()


OUT = RequantiserSpec(n=1, width=34, multiplier_width=16)


def scale_by(shift: int) -> Requantisation:
    """Multiply by 2^-shift."""
    one = np.array([1])
    return Requantisation(multiplier=one, shift=one * shift, zero_point=one * 0)


@pytest.mark.parametrize(("operation", "error"), [("gelu", 0.052), ("silu", 0.048)])
def test_gate_is_near_its_function(operation: str, error: float) -> None:
    """Every 8-bit value; bounds are rounded-up measurements."""
    x = np.arange(-128, 128)
    spec = VectorUnitSpec()
    multiplier, shift = dyadic(1.0, spec.reciprocal_width)
    to = Requantisation(multiplier=multiplier, shift=shift, zero_point=np.array([0]))
    found = gate(spec, operation, x, spec.scaling, to) / 16
    reals = (x / 16).tolist()
    exact = {
        "gelu": [real * (1 + math.erf(real / math.sqrt(2))) / 2 for real in reals],
        "silu": [real / (1 + math.exp(-real)) for real in reals],
    }[operation]
    assert 0.9 * error < abs(found - exact).max() < error


@pytest.mark.parametrize("operation", GATES)
@pytest.mark.parametrize("fields", [*WIDTHS, {"out_width": 7, "scale_width": 8}], ids=str)
def test_gate_matches_definition(fields: dict[str, Any], operation: str) -> None:
    """Every value, or many, in fractions, for several multipliers, shifts and zero points."""
    spec = VectorUnitSpec(**fields)
    high = (1 << spec.reciprocal_width) - 1
    values = np.arange(spec.in_format.low, spec.in_format.high + 1, 1 << spec.width // 12 * 4)
    for multiplier, shift, zero_point in (
        (high, spec.reciprocal_width, 0),
        (high // 3, 9, -7),
        (1, 0, 3),
        (0, 5, 1),
        (high, 63, 2),
    ):
        to = Requantisation(
            multiplier=np.array([multiplier]),
            shift=np.array([shift]),
            zero_point=np.array([zero_point]),
        )
        expected = []
        for x in values.tolist():
            argument = abs(x) * GATES[operation] // 64
            turned = argument + -(-argument // 2 if argument % 2 == 0 else -(argument + 1) // 2)
            turned -= -(-argument // 16)
            unit = 1 << spec.scale_width
            whole, rest = divmod(turned, unit)
            e = Fraction(
                math.floor(Fraction(2 * unit - rest, 2 * unit) / 2**whole * 2**spec.gate_width),
                2**spec.gate_width,
            )
            q = math.floor(multiplier / (1 + e))
            product = (x, 1)[operation == "sigmoid"] * (q if x > 0 else multiplier - q)
            code = math.floor(Fraction(product, 2**shift) + Fraction(1, 2)) + zero_point
            expected.append(
                min(max(code, spec.scaling.out_format.low), spec.scaling.out_format.high)
            )
        assert gate(spec, operation, values, spec.scaling, to).tolist() == expected


def test_gate_refuses_unknown_operations() -> None:
    with pytest.raises(ValueError, match="operation must be one of gelu, silu, sigmoid, not"):
        gate(VectorUnitSpec(), "relu", np.arange(3), VectorUnitSpec().scaling, scale_by(0))
    with pytest.raises(ValueError, match=r"out must have a multiplier of 2\.\.12 bits, not 16"):
        gate(VectorUnitSpec(), "gelu", np.arange(3), OUT, scale_by(0))


def test_vector_unit_takes_what_an_operation_needs() -> None:
    spec, x = VectorUnitSpec(operations="rms_norm,silu,multiply", length=24), np.arange(4)
    to = scale_by(2)
    for operation, given, says in (
        ("silu", {}, "to must be given for .*, not for silu"),
        ("rms_norm", {"to": to}, "to must be given for .*, not for rms_norm"),
        ("silu", {"to": to, "other": x}, "other must be given for add, multiply, not for silu"),
        ("multiply", {"to": to}, "other must be given for .*, not for multiply"),
        ("multiply", {"to": to, "other": x[:3]}, r"b must be of the shape \(4,\), not \(3,\)"),
    ):
        kwargs: dict[str, Any] = given
        with pytest.raises(ValueError, match=says):
            vector_unit(spec, operation, x, **kwargs)
    # Two operands share a bank.
    assert [spec.most(name) for name in ("silu", *PAIRS)] == [24, 16, 16]
    with pytest.raises(ValueError, match=r"rows must be of 1\.\.16 values, not 17"):
        vector_unit(spec, "multiply", np.arange(17), to, np.arange(17))
    assert vector_unit(spec, "multiply", x, to, x)[0].tolist() == [0, 0, 1, 2]


def test_sums_and_products_of_all_pairs_are_requantised() -> None:
    """To the nearest, halves up, saturated."""
    a, b = np.meshgrid(np.arange(-128, 128), np.arange(-128, 128))
    total, product = 3 * a - 2 * b, a * b
    for found, sums, shift in (
        (add(a, b, (3, -2), OUT, scale_by(2)), total, 2),
        (multiply(a, b, OUT, scale_by(5)), product, 5),
    ):
        expected = np.clip(np.floor(sums / 2**shift + 0.5), -128, 127)
        assert np.array_equal(found, expected)
    with pytest.raises(ValueError, match=r"b must be of the shape \(2,\), not \(3,\)"):
        multiply(np.arange(2), np.arange(3), OUT, scale_by(0))


def test_all_codes_are_scaled_by_all_exponents() -> None:
    """To the nearest, halves up, saturated; nothing is left by shifts beyond the format's."""
    x = np.arange(-(1 << 15), 1 << 15)
    to = replace(scale_by(3), multiplier=np.array([5]), zero_point=np.array([-2]))
    unit = VectorUnitSpec(operations="scale", width=16, length=4096)
    for exponent in range(64):
        own = shifted(to, exponent, OUT)
        expected = np.clip(np.floor(x * 5.0 / 2.0 ** (3 + exponent) + 0.5) - 2, -128, 127)
        assert np.array_equal(scale(x, OUT, own), expected), exponent
        found, none = vector_unit(unit, "scale", x[::31][:2114], own)
        assert none == 0
        assert np.array_equal(found, expected[::31][:2114])


@pytest.mark.parametrize(("out_width", "signed"), [(9, True), (16, True), (16, False), (12, False)])
def test_all_probabilities_are_narrowed(out_width: int, signed: bool) -> None:
    """To the nearest, halves up, at most the greatest; what they represent stays within half."""
    spec = VectorUnitSpec(out_width=out_width, signed=signed)
    codes, less = np.arange(1 << spec.magnitude_width), out_width - 8
    found, exponents = narrowed(spec, codes, np.full(3, 20))
    high = 127 if signed else 255
    assert np.array_equal(found, np.minimum(np.floor(codes / 2.0**less + 0.5), high))
    assert exponents.tolist() == [20 - less] * 3
    kept = found < high
    assert np.abs(found[kept] * 2.0**less - codes[kept]).max() <= 2.0 ** (less - 1)


def test_vector_rejects_wrong_kind() -> None:
    with pytest.raises(TypeError, match=r"lanes must be 1\.\.64 lanes, not 8\.0"):
        VectorUnitSpec(lanes=8.0)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="x must be integers"):
        softmax(VectorUnitSpec(), np.array([0.5]))


def test_vector_rejects_out_of_range() -> None:
    with pytest.raises(ValueError, match=r"out_width must be 8\.\.16 if signed, not 7"):
        VectorUnitSpec(out_width=7, signed=True)
    with pytest.raises(ValueError, match="operations must be one or more of softmax"):
        VectorUnitSpec(operations="relu")
    for function in (softmax, lambda spec, x: norm(spec, x, centred=True)):
        with pytest.raises(ValueError, match=r"rows must be of 1\.\.4 values, not 5"):
            function(VectorUnitSpec(length=4), np.zeros(5, dtype=int))
        with pytest.raises(ValueError, match=r"x must be -128\.\.127"):
            function(VectorUnitSpec(), np.array([128]))


def test_vector_refuses_operations_that_are_not_built() -> None:
    x = np.arange(4)
    for built, asked in (("softmax", "rms_norm"), ("rms_norm", "softmax"), ("rms_norm", "relu")):
        spec = VectorUnitSpec(operations=built)
        with pytest.raises(ValueError, match=f"must be one of {built}, not '{asked}'"):
            vector_unit(spec, asked, x)
        with pytest.raises(ValueError, match=f"must be one of {built}, not '{asked}'"):
            cycles(spec, [(asked, x)])
    with pytest.raises(ValueError, match="must be one of rms_norm, not 'layer_norm'"):
        norm(VectorUnitSpec(operations="rms_norm"), x, centred=True)
    with pytest.raises(ValueError, match="must be one of rms_norm, not 'softmax'"):
        softmax(VectorUnitSpec(operations="rms_norm"), x)


def test_softmax_of_a_head_fits_beside_its_products() -> None:
    """128 rows of 128 scores: within a quarter of 128 x 64 x 128 and 128 x 128 x 64 on 8 x 8."""
    spec = VectorUnitSpec(length=128)
    rng = np.random.default_rng(6)
    rows = np.clip(np.rint(rng.normal(0, 24, (128, 128))), -128, 127).astype(int)
    flat = np.zeros((128, 128), dtype=int)
    products = 2 * 128 * 64 * 128 // 64
    for values in (rows, flat):
        taken = cycles(spec, [("softmax", row) for row in values])
        assert taken <= products * 0.25
