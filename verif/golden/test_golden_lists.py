"""Lists of places in golden: what they have, and products by them."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from golden.npe.vector import VectorUnitSpec
from golden.soc.coprocessor import CoprocessorSpec, Error, Job, coprocessor, matrices
from golden.soc.lists import index, list_bytes, listed
from golden.tpe.systolic_os import SystolicOsSpec

SPEC = CoprocessorSpec(
    engine=SystolicOsSpec(m=2, n=2), lists=40, vector=VectorUnitSpec(lanes=4, length=40)
)


@pytest.mark.parametrize("least", [0, 1, 5, 127, 128, 129])
def test_an_index_has_each_place_once_in_order(least: int) -> None:
    rows = np.random.default_rng(least).integers(-128, 128, (5, 33))
    rows[0, :3] = -128, least, -least
    for row, words in zip(rows, index(rows, least), strict=True):
        wanted = [place for place, code in enumerate(row.tolist()) if abs(code) >= least]
        assert words[-1] == len(wanted)
        assert words[: len(wanted)].tolist() == wanted
        assert not words[len(wanted) : -1].any()


@pytest.mark.parametrize(
    ("words", "right"),
    [
        ([7, 7, 7, 0], True),
        ([0, 1, 2, 3], True),
        ([2, 7, 7, 1], True),
        ([3, 0, 0, 1], False),
        ([1, 1, 0, 2], False),
        ([2, 1, 0, 2], False),
        ([0, 1, 2, 4], False),
    ],
)
def test_lists_rise_up_to_k(words: list[int], right: bool) -> None:
    there = listed(np.array(words))
    assert (there is not None) == right
    if there is not None:
        assert np.flatnonzero(there).tolist() == words[: words[-1]]


def _product(rng: np.random.Generator, memory: np.ndarray, **more: Any) -> Job:
    memory[:] = rng.integers(256, size=len(memory))
    return Job(a=0, b=1 << 8, c=1 << 12, m=1, n=9, k=33, lda=33, ldb=11, ldc=36, **more)


@pytest.mark.parametrize("least", [0, 3, 60, 128, 129])
@pytest.mark.parametrize("bias", [None, 3000])
def test_a_product_by_a_list_is_that_of_the_row_with_zeros(least: int, bias: int | None) -> None:
    memory = np.zeros(1 << 13, np.uint8)
    job = _product(np.random.default_rng(least), memory, bias=bias, places=6000)
    makes = Job(
        a=0,
        b=0,
        c=6000,
        m=1,
        n=33,
        k=0,
        lda=33,
        ldb=0,
        ldc=list_bytes(33),
        vector="index",
        least=least,
    )
    dense, c = memory.copy(), matrices(SPEC, job)["c"]
    assert not coprocessor(SPEC, memory, makes)
    assert not coprocessor(SPEC, memory, job)
    row = dense[:33].view(np.int8).astype(np.int64)
    dense[:33][np.abs(row) < least] = 0
    assert not coprocessor(SPEC, dense, replace(job, places=None))
    assert np.array_equal(c.load(memory), c.load(dense))
    if least == 129:
        # An empty list: C is the bias, or 0.
        sums = c.load(memory)[0]
        there = np.zeros(9) if bias is None else memory[bias : bias + 36].view("<u4")
        assert np.array_equal(sums, there)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"k": 41, "lda": 41}, Error.K_TOO_LARGE),
        ({"places": (1 << 64) - list_bytes(33) + 1}, Error.WRAPS),
        ({"places": 4096}, Error.INDEX),
    ],
)
def test_lists_that_cannot_be(change: dict[str, Any], error: Error) -> None:
    memory = np.zeros(1 << 13, np.uint8)
    job = _product(np.random.default_rng(1), memory)
    memory[4096 : 4096 + list_bytes(33)] = 255
    before = memory.copy()
    assert coprocessor(SPEC, memory, replace(job, **{"places": 6000} | change)) == error
    assert np.array_equal(memory, before)


@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        ({"windows": True}, "windows"),
        ({"row_factors": True}, "factors of rows"),
        ({"engine": SystolicOsSpec(m=2, n=2, a_width=4)}, "8 or 16 bits"),
        ({"vector": VectorUnitSpec(lanes=3, length=40)}, "lanes of the vector unit"),
        ({"lists": 1 << 16}, "lists"),
    ],
)
def test_builds_without_lists(parameters: dict[str, Any], text: str) -> None:
    given: dict[str, Any] = {"engine": SystolicOsSpec(m=2, n=2), "lists": 8, **parameters}
    with pytest.raises(ValueError, match=text):
        CoprocessorSpec(**given)
