"""Products in formats by ``import carrysave``: codes or floats in, exact sums or codes out."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import carrysave
from golden.formats.minifloat import MinifloatFormat

LANES = carrysave.Design("npe", m=2, n=2, formats="int8,e4m3")
E4M3 = MinifloatFormat()
E2M1 = MinifloatFormat(exponent_bits=2, mantissa_bits=1, specials="finite")
NAN = 0x7F  # of E4M3
SIMULATED = pytest.mark.parametrize(
    "simulated", [False, pytest.param(True, marks=pytest.mark.prove)], ids=["twin", "hardware"]
)


def test_floats_in_and_exact_sums_out(tmp_path: Path) -> None:
    """Against doubles, which hold these sums; the hardware finds the same, NaN and edges too."""
    rng = np.random.default_rng(1)
    x, y = 4 * rng.normal(size=(3, 9)), 40 * rng.normal(size=(9, 5))
    found = LANES.multiply(x, y, formats=("e4m3", "int8"))
    a, b = E4M3.encode(x), np.clip(np.rint(y), -128, 127).astype(int)
    assert np.array_equal(found.values, E4M3.to_float(a) @ b)
    assert np.array_equal(found.codes * 2.0**found.exponent, found.values)
    assert found.format == "fixed"
    assert not found.invalid.any()

    a[1, 4] = NAN
    coded = LANES.multiply(a, b, formats=("e4m3", "int8"))
    made = LANES.simulate(a, b, formats=("e4m3", "int8"), folder=tmp_path)
    for one in (coded, made):
        assert one.invalid.tolist() == [[row == 1] * 5 for row in range(3)]
        assert np.isnan(one.values[1]).all()
        assert np.array_equal(one.values[::2], found.values[::2])
        assert np.array_equal(one.codes, coded.codes)
    assert "_numbers" not in repr(made)


@SIMULATED
def test_long_sums_are_cut(simulated: bool, tmp_path: Path) -> None:
    """An accumulator without room for K adds up parts, and nothing overflows."""
    design = carrysave.Design("npe", m=2, n=2, formats="int8", accumulator_width=18)
    most = design.spec.k_max_words(0, 0)
    a, b = np.full((1, 3 * most), -128), np.full((3 * most, 1), -128)
    due = [[3 * most * 128 * 128]]
    assert due[0][0] >= 1 << 17
    assert design.multiply(a, b, formats="int8").codes.tolist() == due
    if simulated:
        assert design.simulate(a, b, formats="int8", folder=tmp_path).codes.tolist() == due
    rounded = carrysave.Design("npe", m=2, n=2, formats="int8", accumulator_width=18, result="fp32")
    with pytest.raises(ValueError, match=f"K must be at most {most} where C is fp32, not"):
        rounded.multiply(a, b, formats="int8")
    assert rounded.multiply(a[:, :2], b[:2], formats="int8").values.tolist() == [[2.0**15]]


@SIMULATED
def test_blocks_with_scales(simulated: bool, tmp_path: Path) -> None:
    design = carrysave.Design(
        "npe", m=2, n=2, formats="e2m1", scale="e8m0", block=4, result="fp32", rounding="rne"
    )
    rng = np.random.default_rng(2)
    a, b = rng.integers(0, 16, (3, 6)), rng.integers(0, 16, (6, 3))
    scales = rng.integers(120, 134, (3, 2)), rng.integers(120, 134, (2, 3))
    found = design.multiply(a, b, formats="e2m1", scales=scales)
    x, y = (E2M1.to_float(one) for one in (a, b))
    left, right = (np.exp2(one - 127.0) for one in scales)
    due = sum(
        (x[:, k] @ y[k]) * left[:, [i]] * right[[i]]
        for i, k in enumerate((slice(0, 4), slice(4, 6)))
    )
    assert np.array_equal(found.values, due.astype(np.float32))
    if simulated:
        made = design.simulate(a, b, formats="e2m1", scales=scales, folder=tmp_path)
        assert np.array_equal(made.codes, found.codes)
    with pytest.raises(TypeError, match="scales must be given where scale of the design"):
        design.multiply(a, b, formats="e2m1")
    with pytest.raises(ValueError, match=r"scales of b must be 2 x 3 codes, not \(3, 2\)"):
        design.multiply(a, b, formats="e2m1", scales=(scales[0], scales[1].T))


def test_nothing_to_multiply(tmp_path: Path) -> None:
    for a, b in (((0, 3), (3, 2)), ((2, 0), (0, 2))):
        found = LANES.multiply(np.zeros(a), np.zeros(b), formats="e4m3")
        made = LANES.simulate(np.zeros(a), np.zeros(b), formats="e4m3", folder=tmp_path)
        assert found.values.tolist() == made.values.tolist() == np.zeros((a[0], 2)).tolist()


@pytest.mark.parametrize(
    ("design", "options", "says"),
    [
        (LANES, {"formats": "e5m2"}, "format must be one of int8, e4m3, not 'e5m2'"),
        (LANES, {"formats": ("int8",)}, r"formats must be two, of A and of B, .*, not \('int8',\)"),
        (LANES, {"formats": "int8", "a": [[128]]}, r"a must be -128..127 \(int8\), not 128"),
        (LANES, {"formats": "int8", "a": [[1, 2]]}, r"a and b must be M x K .*, not \(1, 2\) and"),
        (LANES, {"formats": "int8", "scales": ([[1]], [[1]])}, "not with none"),
        (LANES, {}, "formats must be given for npe: two of int8, e4m3"),
        (carrysave.Design("systolic_os"), {"formats": "int8"}, "formats and scales are for arrays"),
    ],
)
def test_what_is_refused(
    design: carrysave.Design, options: dict[str, Any], says: str, tmp_path: Path
) -> None:
    given = {"a": [[1]], "b": [[1]], **options}
    for action, more in (("multiply", {}), ("simulate", {"folder": tmp_path})):
        with pytest.raises((ValueError, TypeError), match=says):
            getattr(design, action)(**given, **more)
    assert not list(tmp_path.iterdir())
