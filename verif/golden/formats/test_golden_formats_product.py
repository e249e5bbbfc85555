"""Exact sums of many bits: against Python's integers, and fast."""

import os
import subprocess
import sys

import numpy as np
import pytest

from golden.formats.exact import Exact, join
from golden.formats.product import _DOUBLE, _slice_widths, matmul
from verif.golden.formats.reference import element

WIDE = ["bf16", "fp32", "e8m0finite", "posit16e3", "posit32e2", "posit32e3", "fp16", "int16"]

# Run in a process of its own, where BLAS has one thread: others would be counted while they wait.
TIMED = """
import time
import numpy as np
from golden.formats.names import parse
from golden.gemm import GemmSpec, gemm
fmt = parse("bf16")
spec = GemmSpec(a_format=fmt, b_format=fmt)
a, b = np.random.default_rng(1).integers(0, 255 << 7, (2, 256, 256))
gemm(spec, a, b)
start = time.process_time()
gemm(spec, a, b)
print(time.process_time() - start)
"""


def numbers(seed: int, name: str, shape: tuple[int, int]) -> Exact:
    """Draw values of a format, zeros in place of what is no number."""
    fmt = element(name)
    values = fmt.decode(np.random.default_rng(seed).integers(fmt.low, fmt.high + 1, shape))
    return Exact.finite(values.significand.copy(), values.exponent)


def in_units(values: Exact) -> np.ndarray:
    """Make Python integers, of 2^-1000."""
    return values.significand.astype(object) << (values.exponent + 1000).astype(object)


@pytest.mark.parametrize("depth", [1, 7, 300])
@pytest.mark.parametrize("name", WIDE)
def test_sums_are_those_of_integers(name: str, depth: int) -> None:
    """Each format with each, a row of zeros and one of a single sign among them."""
    for seed, other in enumerate(WIDE):
        a, b = numbers(seed, name, (4, depth)), numbers(seed + 50, other, (depth, 3))
        a.significand[1] = 0
        a.significand[2] = -abs(a.significand[2])
        expected = in_units(a) @ in_units(b)
        assert matmul(a, b).fixed(-2000).tolist() == expected.tolist(), other


def test_sums_carry_through_every_limb() -> None:
    """-1, and the powers of two next to it: each carry runs to the top."""
    for width in (63, 64, 127, 128, 200, 263, 500):
        exponents = np.array([[width, 0], [width, 0], [0, 0]])
        a = Exact.finite(np.array([[1, -1], [-1, 1], [1, -1]]), exponents)
        b = Exact.finite(np.ones((2, 1), dtype=np.int64), 0)
        expected = [(1 << width) - 1, 1 - (1 << width), 0]
        assert matmul(a, b).fixed(0)[:, 0].tolist() == expected


@pytest.mark.parametrize("pitch", [1, 13, 22, 32, 52, 62])
@pytest.mark.parametrize("width", [1, 63, 64, 65, 128, 300])
def test_limbs_are_joined(pitch: int, width: int) -> None:
    values = [0, -1, -(1 << width - 1), (1 << width - 1) - 1, (1 << width) // 3 - (1 << width - 1)]
    count = -(-width // pitch)
    for extra in (0, 3):
        limbs = [
            np.array([value >> place * pitch & (1 << pitch) - 1 for value in values])
            for place in range(count + extra)
        ]
        assert join(limbs, pitch, width).tolist() == values


def test_products_of_slices_stand_at_multiples_of_one_pitch() -> None:
    for budget in (20, 41, 45, 53):
        for a_width in range(0, 300, 7):
            for b_width in range(0, 300, 11):
                a, b, pitch = _slice_widths(a_width, b_width, budget)
                assert a + b <= budget <= _DOUBLE
                assert a % pitch == 0 or a >= a_width
                assert b % pitch == 0 or b >= b_width


def test_a_product_of_many_bits_takes_milliseconds() -> None:
    """0.2 s of 1.4 where every level was made Python's integers; E4M3 takes 0.01."""
    done = subprocess.run(
        [sys.executable, "-c", TIMED],
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert float(done.stdout) < 0.6
