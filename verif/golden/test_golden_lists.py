"""Lists of places in golden: what they have, and products by them."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator
from onnxruntime import InferenceSession

from golden.npe.vector import VectorUnitSpec
from golden.soc.coprocessor import CoprocessorSpec, Error, Job, coprocessor, error_of, matrices
from golden.soc.lists import index, list_bytes, listed, top_bytes, top_k
from golden.tpe.systolic_os import SystolicOsSpec

SPEC = CoprocessorSpec(
    engine=SystolicOsSpec(m=2, n=2), lists=40, vector=VectorUnitSpec(lanes=4, length=40), top_k=8
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


@pytest.mark.parametrize("count", [1, 2, 7, 24])
@pytest.mark.parametrize("spread", [2, 300])
def test_top_k_is_that_of_onnx(count: int, spread: int) -> None:
    """With many codes that are equal, and few; onnxruntime and the reference agree."""
    rows = np.random.default_rng(count).integers(-spread, spread, (9, 24))
    places, codes = top_k(rows, count)
    node = helper.make_node("TopK", ["x", "k"], ["values", "places"])
    model = helper.make_model(
        helper.make_graph(
            [node],
            "g",
            [
                helper.make_tensor_value_info("x", TensorProto.INT32, rows.shape),
                helper.make_tensor_value_info("k", TensorProto.INT64, [1]),
            ],
            [
                helper.make_tensor_value_info("values", TensorProto.INT32, codes.shape),
                helper.make_tensor_value_info("places", TensorProto.INT64, codes.shape),
            ],
        ),
        opset_imports=[helper.make_opsetid("", 17)],
        ir_version=8,
    )
    given = {"x": rows.astype(np.int32), "k": np.array([count])}
    session = InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    for values, at in (session.run(None, given), ReferenceEvaluator(model).run(None, given)):
        assert np.array_equal(codes, values)
        assert np.array_equal(places[:, :-1], at)
    assert (places[:, -1] == count).all()


@pytest.mark.parametrize("wide", [0, 1])
def test_a_row_of_top_k_is_a_list_and_codes(wide: int) -> None:
    unit = VectorUnitSpec(lanes=4, length=40, width=16)
    spec = replace(SPEC, vector=unit)
    rng = np.random.default_rng(wide)
    memory = rng.integers(256, size=1 << 10).astype(np.uint8)
    before = memory.copy()
    job = replace(TOP, a_format=wide, lda=60, ldc=100)
    assert not coprocessor(spec, memory, job)
    kind = ("<i1", "<i2")[wide]
    for number in range(job.m):
        row = before[60 * number :][: 20 * (wide + 1)].view(kind).tolist()
        wanted = sorted(range(20), key=lambda place: (-row[place], place))[: job.k]
        first = job.c + 100 * number
        assert memory[first : first + 24].view("<u4").tolist() == [*wanted, 5]
        codes = memory[first + 24 : first + top_bytes(5, wide + 1)].view(kind).tolist()
        assert codes == [row[place] for place in wanted]
    places = matrices(spec, job)["c"].places()
    untouched = np.ones(len(memory), bool)
    untouched[places] = False
    assert np.array_equal(memory[untouched], before[untouched])


TOP = Job(a=0, b=0, c=500, m=3, n=20, k=5, lda=20, ldb=0, ldc=29, vector="top_k")


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({}, Error.NONE),
        ({"k": 8, "ldc": 44}, Error.NONE),
        ({"k": 0}, Error.DIMENSION),
        ({"k": 9, "ldc": 60}, Error.K_TOO_LARGE),
        ({"k": 5, "n": 4}, Error.K_TOO_LARGE),
        ({"n": 41, "lda": 41}, Error.LONG_ROW),
        ({"ldc": 28}, Error.LEADING_DIMENSION),
        ({"m": 1, "c": (1 << 64) - 28}, Error.WRAPS),
        ({"least": 1, "places": 0}, Error.MODE),
    ],
)
def test_top_k_that_cannot_be(change: dict[str, Any], error: Error) -> None:
    memory = np.random.default_rng(1).integers(256, size=1 << 10).astype(np.uint8)
    before = memory.copy()
    assert coprocessor(SPEC, memory, replace(TOP, **change)) == error
    assert np.array_equal(memory, before) == bool(error)


@pytest.mark.parametrize("place", [0, 1, 3, 4, 1 << 31])
def test_a_place_chooses_b(place: int) -> None:
    memory = np.zeros(1 << 13, np.uint8)
    job = _product(np.random.default_rng(place), memory, places=6000)
    job = replace(job, k=50, lda=50, ldsa=555, ldsb=4)  # K is of no list
    memory[6000:6004] = np.array([place], "<u4").view(np.uint8)
    plain = memory.copy()
    error = coprocessor(SPEC, memory, job)
    assert error == (Error.NONE if place < 4 else Error.INDEX)
    if not error:
        assert not coprocessor(
            SPEC, plain, replace(job, b=job.b + 555 * place, places=None, ldsa=0, ldsb=0)
        )
    assert np.array_equal(memory, plain)


def test_a_b_that_cannot_be_chosen() -> None:
    job = _product(np.random.default_rng(1), np.zeros(1 << 13, np.uint8), places=6000)
    job = replace(job, ldsa=555, ldsb=4)
    wrong = replace(job, places=(1 << 64) - 3)
    assert error_of(SPEC, replace(job, places=(1 << 64) - 4)) == Error.NONE
    assert error_of(SPEC, wrong) == Error.WRAPS
    assert error_of(SPEC, replace(job, k=1 << 24)) == Error.DIMENSION


@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        ({"windows": True}, "windows"),
        ({"row_factors": True}, "factors of rows"),
        ({"engine": SystolicOsSpec(m=2, n=2, a_width=4)}, "8 or 16 bits"),
        ({"vector": VectorUnitSpec(lanes=3, length=40)}, "lanes of the vector unit"),
        ({"lists": 1 << 16}, "lists"),
        ({"top_k": 9}, "top_k must be .* at most lists = 8, not 9"),
        ({"top_k": 1, "vector": None}, "top_k must be 0 without a vector unit"),
    ],
)
def test_builds_without_lists(parameters: dict[str, Any], text: str) -> None:
    given: dict[str, Any] = {"engine": SystolicOsSpec(m=2, n=2), "lists": 8, **parameters}
    with pytest.raises(ValueError, match=text):
        CoprocessorSpec(**given)
