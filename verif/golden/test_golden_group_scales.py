"""Sums of groups that a co-processor scales, against a decoder's own; refusals."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from carrysave.driver.descriptor import descriptors
from carrysave.driver.job import Job as DriverJob
from carrysave.driver.registers import FIELDS, JOB
from golden.formats.names import minifloat
from golden.lut.scale import group_sums, scale_groups
from golden.lut.weights import GroupedWeights
from golden.npe.npe import NpeSpec
from golden.soc.coprocessor import CoprocessorSpec, Error, Job, coprocessor, error_of, matrices
from golden.soc.spec import CoprocessorStreamSpec
from golden.tpe.cube import CubeSpec
from golden.tpe.systolic_os import SystolicOsSpec

FP16 = minifloat("fp16")


def spec_of(**given: Any) -> CoprocessorSpec:
    values: dict[str, Any] = {"engine": SystolicOsSpec(m=4, n=4), "group_scales": "fp16"}
    return CoprocessorSpec(**values | given)


SPECIAL = np.array([0, 1, 1 << 15, 0x7C00, 0xFC00, 0x7E01, 0x7BFF])
"""Zeros, the least number, infinities, NaN and the greatest number."""


class Product:
    """A job with scales of groups, and what it is made of."""

    def __init__(self, seed: int, m: int, k: int, n: int, group: int):
        self.rng, self.m, self.k, self.n, self.group = np.random.default_rng(seed), m, k, n, group
        self.groups = -(-k // group)
        self.a = self.rng.integers(-128, 128, (m, k))
        self.b = self.rng.integers(-8, 8, (k, n))
        self.scales = FP16.encode(self.rng.normal(0, 0.01, (self.groups, n)))
        self.powers = self.rng.integers(-20, 20, (self.groups, m))

    def special(self) -> None:
        """Have some scales that are no numbers, and the greatest and least powers."""
        some = self.rng.random(self.scales.shape) < 0.1
        self.scales = np.where(some, self.rng.choice(SPECIAL, some.shape), self.scales)
        far = self.rng.random(self.powers.shape) < 0.2
        self.powers = np.where(far, self.rng.choice([-127, 127], far.shape), self.powers)

    def run(self) -> np.ndarray:
        """Run it; return C."""
        spec, memory = spec_of(), np.zeros(1 << 16, np.uint8)
        placed = matrices(spec, job_of(self.m, self.n, self.k, self.group))
        data = {"a": self.a, "b": self.b, "a_scales": self.powers, "b_scales": self.scales}
        for name, codes in data.items():
            placed[name].store(memory, codes & (1 << placed[name].bits) - 1)
        assert coprocessor(spec, memory, job_of(self.m, self.n, self.k, self.group)) is Error.NONE
        return placed["c"].load(memory).astype(np.uint32).view(np.float32)

    def right(self) -> np.ndarray:
        """Return what a decoder's products are."""
        zeros = np.full((self.groups, self.n), 8)
        weights = GroupedWeights(
            codes=self.b + 8,
            bits=4,
            levels="uniform",
            group=self.group,
            scale_format="fp16",
            scales=self.scales,
            zeros=zeros,
        )
        sums = group_sums(self.a, weights.integers, self.group)
        with np.errstate(invalid="ignore"):
            return scale_groups(weights, sums, exponents=self.powers)


def job_of(m: int, n: int, k: int, group: int, **given: Any) -> Job:
    at = {"a": 0, "b": 12000, "a_scales": 24000, "b_scales": 36000, "c": 48000}
    distances = {"lda": k + 3, "ldb": n + 1, "ldc": 4 * n + 5, "ldsa": m + 2, "ldsb": 2 * n + 3}
    blocks = {"block_m": 1, "block_n": 1, "block_k": group}
    values: dict[str, Any] = {"m": m, "n": n, "k": k, **at, **distances, **blocks}
    return Job(**values | given)


@pytest.mark.parametrize("shape", [(1, 96, 40, 32), (5, 64, 9, 16), (3, 7, 5, 8), (2, 70, 33, 1)])
def test_sums_are_those_of_decoders(shape: tuple[int, int, int, int]) -> None:
    """Bit by bit; the last group may be shorter."""
    made, right = (of(Product(sum(shape), *shape)) for of in (Product.run, Product.right))
    assert np.array_equal(made.view(np.uint32), right.view(np.uint32))
    assert len(np.unique(made)) > made.size // 2


def test_numbers_that_are_none_are_those_of_decoders() -> None:
    """Scales of NaN and infinity, sums that overflow, and powers at both ends."""
    one = Product(7, 6, 96, 50, 16)
    one.special()
    made, right = one.run(), one.right()
    assert np.array_equal(made, right, equal_nan=True)
    bits = made.view(np.uint32)
    assert set(bits[np.isnan(made)].tolist()) == {0x7FC00000}
    assert np.isinf(made).any()
    assert np.isfinite(made).any()


def test_power_without_a_number_makes_nan() -> None:
    one = Product(8, 2, 32, 4, 16)
    one.powers[1, 0] = -128
    made = one.run()
    assert np.isnan(made[0]).all()
    assert np.isfinite(made[1]).all()


@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        ({"windows": True}, "where jobs have windows"),
        ({"row_factors": True}, "factors of rows"),
        ({"lists": 64}, "where jobs have windows, lists"),
        ({"blocks": False}, "do not choose their blocks"),
        ({"engine": SystolicOsSpec(m=4, n=4, k_max=1 << 20)}, "integers of 17..32 bits"),
        ({"engine": SystolicOsSpec(m=4, n=4, a_width=4, b_width=4, k_max=4)}, "17..32 bits"),
        ({"engine": CubeSpec(m=2, n=4, k=3)}, "no power of two codes along K"),
        ({"engine": NpeSpec(m=2, n=2)}, "sums are no integers"),
    ],
)
def test_group_scales_rejects_out_of_range(given: dict[str, Any], wrong: str) -> None:
    with pytest.raises(ValueError, match=f"group_scales must be none .*{wrong}"):
        spec_of(**given)


def test_group_scales_are_refused_by_streams_and_of_other_names() -> None:
    with pytest.raises(ValueError, match="group_scales must be none between streams"):
        CoprocessorStreamSpec(group_scales="bf16")
    with pytest.raises(ValueError, match="group_scales must be "):
        spec_of(group_scales="e8m0")


def test_jobs_are_refused() -> None:
    """What is done with integer sums; groups of no power of two; and other builds have none."""
    size = 3, 5, 40, 16
    assert error_of(spec_of(), job_of(*size)) is Error.NONE
    wrong: list[dict[str, Any]] = [
        {"accumulate": True},
        {"bias": 0},
        {"encode": True},
        {"block_k": 12},
        {"block_m": 0},
        {"block_m": 0, "block_n": 0, "block_k": 0},
    ]
    for given in wrong:
        assert error_of(spec_of(), job_of(*size, **given)) is Error.MODE, given
    assert error_of(spec_of(), job_of(*size, ldsb=9)) is Error.LEADING_DIMENSION
    assert error_of(spec_of(), job_of(*size, ldsa=2)) is Error.LEADING_DIMENSION
    plain = spec_of(group_scales="none")
    for given in ({"bias": 0}, {"block_m": 0}, {"ldsb": 9}):
        assert error_of(plain, job_of(*size, **given)) is Error.NONE
        assert error_of(spec_of(), job_of(*size, **{"ldsb": 0} | given | {"ldsb": 0})) is Error.NONE


def test_jobs_whose_powers_or_scales_are_written_do_not_overlap() -> None:
    """By the marks of descriptors: powers have a row for each group, though A has one row."""
    one = DriverJob(**vars(job_of(1, 4, 64, 8)) | {"requantisation": None})
    count = FIELDS["job_alike"][0] - JOB

    def marked(**second: Any) -> bool:
        return descriptors([one, replace(one, **second)], 4)[count] > 0

    last = 7
    assert marked(c=50000)
    assert not marked(c=50000, a_scales=one.c - last * one.ldsa)
    assert not marked(c=50000, b_scales=one.c - last * one.ldsb)
    assert not marked(c=one.a_scales + last * one.ldsa)
