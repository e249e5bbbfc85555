"""Codes of a co-processor that are rounded by random bits, against gfloat; refusals."""

from typing import Any

import gfloat.formats  # type: ignore[import-untyped]
import numpy as np
import pytest
from gfloat import RoundMode, round_ndarray

from carrysave.driver.descriptor import descriptor
from carrysave.driver.job import Job as DriverJob
from carrysave.driver.registers import FIELDS, JOB
from golden.formats.names import minifloat
from golden.formats.placed_bits import placed_bits
from golden.npe.npe import NpeSpec
from golden.soc.coprocessor import CoprocessorSpec, Error, Job, coprocessor, matrices
from golden.tpe.systolic_os import SystolicOsSpec

THEIRS = {
    "e2m1": gfloat.formats.format_info_ocp_e2m1,
    "e4m3": gfloat.formats.format_info_ocp_e4m3,
    "e5m2": gfloat.formats.format_info_ocp_e5m2,
    "bf16": gfloat.formats.format_info_bfloat16,
}
SIZES = 60, 52, 24
"""Rows and columns of C, and codes along K."""


def spec_of(result: str = "e4m3", width: int = 8) -> CoprocessorSpec:
    array = NpeSpec(m=4, n=4, formats="e4m3", result=result)
    return CoprocessorSpec(engine=array, random_width=width)


def job_of(spec: CoprocessorSpec, seed: int) -> Job:
    m, n, k = SIZES
    sizes: dict[str, Any] = {
        "m": m,
        "n": n,
        "k": k,
        "lda": k,
        "ldb": n,
        "ldc": n * spec.code_bits // 8,
    }
    return Job(a=0, b=4096, c=8192, **sizes, encode=True, seed=seed)


@pytest.mark.parametrize("width", [4, 8, 16])
@pytest.mark.parametrize("result", list(THEIRS))
def test_codes_are_those_of_gfloat(result: str, width: int) -> None:
    """Sums of products of e4m3, of any size: each as gfloat rounds it by the same bits."""
    spec, rng = spec_of(result, width), np.random.default_rng(width)
    job, operand = job_of(spec, 12345), minifloat("e4m3")
    placed, memory = matrices(spec, job), rng.integers(0, 256, 1 << 15, np.uint8)
    values = {}
    for name in "ab":
        shape = placed[name].rows, placed[name].columns
        codes = rng.integers(8, 64, shape) | rng.integers(0, 2, shape) << 7
        placed[name].store(memory, codes)
        values[name] = operand.to_float(codes)
    assert coprocessor(spec, memory, job) is Error.NONE
    made = minifloat(result).to_float(placed["c"].load(memory))
    sums = values["a"] @ values["b"]
    rows, columns = np.arange(len(sums))[:, None], np.arange(sums.shape[1])
    bits = placed_bits(12345, rows, columns, width).numbers
    theirs = round_ndarray(THEIRS[result], sums, RoundMode.StochasticFastest, True, bits, width)
    assert np.array_equal(made, theirs)
    nearest = minifloat(result).to_float(minifloat(result).encode(sums))
    assert not np.array_equal(made, nearest)


def test_seeds_choose_other_codes() -> None:
    spec, made = spec_of(), []
    for seed in (1, 1, 2):
        memory = np.random.default_rng(4).integers(8, 64, 1 << 15, np.uint8)
        job = job_of(spec, seed)
        assert coprocessor(spec, memory, job) is Error.NONE
        made.append(matrices(spec, job)["c"].load(memory))
    assert np.array_equal(made[0], made[1])
    assert (made[0] != made[2]).mean() > 0.1


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"random_width": 3}, r"random_width must be 0 or 4\.\.16 bits, not 3"),
        ({"random_width": 17}, r"random_width must be 0\.\.16 bits, not 17"),
        ({"requantise": False}, "random_width must be 0 without requantise"),
        ({"engine": SystolicOsSpec(m=4, n=4)}, "where the engine has no format of results"),
        ({"engine": NpeSpec(result="e4m3", rounding="rtz")}, "where it rounds toward zero"),
    ],
)
def test_builds_that_cannot_are_refused(more: dict[str, Any], message: str) -> None:
    fields: dict[str, Any] = {"engine": NpeSpec(result="e4m3"), "random_width": 8}
    with pytest.raises(ValueError, match=message):
        CoprocessorSpec(**fields | more)


def test_the_seed_is_where_the_multiplier_is() -> None:
    sizes: dict[str, Any] = dict.fromkeys(("a", "b", "c", "m", "n", "k", "lda", "ldb", "ldc"), 1)
    image = descriptor(DriverJob(**sizes, encode=True, seed=(1 << 31) - 7))
    at = FIELDS["job_multiplier"][0] - JOB
    assert int.from_bytes(image[at : at + 4], "little") == (1 << 31) - 7
    with pytest.raises(ValueError, match="multiplier must be of 31 bits"):
        descriptor(DriverJob(**sizes, encode=True, seed=1 << 31))
