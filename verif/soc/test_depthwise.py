"""Golden depthwise jobs against onnx.reference; what makes none; their least cycles."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from golden.npe.requantiser import Requantisation
from golden.soc.coprocessor import coprocessor
from golden.soc.depthwise import rows_read, sums
from golden.soc.depthwise_limits import cycles
from golden.soc.job import Error, Job
from golden.soc.job_check import error_of, matrices
from golden.soc.spec import CoprocessorSpec
from golden.soc.window import Window
from hw.catalog import Design
from verif.soc.benches.depthwise import any_depthwise, depthwise_window

BUILD: dict[str, Any] = {
    "engine": "systolic_os(m=4,n=4)",
    "vector": "vector_unit(lanes=4,length=256)",
    "taps": 3,
    "windows": True,
    "data_width": 32,
    "address_width": 20,
}
SPEC: Any = Design("coprocessor", BUILD).spec


def of_onnx(window: Window, image: np.ndarray, weights: np.ndarray, down: int) -> np.ndarray:
    """Run onnx's own convolution of a group for each channel; pads end with the last window."""
    sides = list(zip((window.height, window.width), (down, window.across), strict=True))
    pads: list[Any] = [
        (made - 1) * window.strides[at]
        + (window.kernel[at] - 1) * window.dilations[at]
        + 1
        - window.first[at]
        - size
        for at, (size, made) in enumerate(sides)
    ]
    # What no window reaches is cut off: the reference knows no negative pads.
    image = image[: window.height + min(pads[0], 0), : window.width + min(pads[1], 0)]
    node = helper.make_node(
        "ConvInteger",
        ["x", "w", "z"],
        ["y"],
        group=window.channels,
        strides=window.strides,
        dilations=window.dilations,
        pads=[*window.first, *(max(pad, 0) for pad in pads)],
    )
    names = [helper.make_tensor_value_info(name, TensorProto.INT8, None) for name in "xwz"]
    y = helper.make_tensor_value_info("y", TensorProto.INT32, None)
    model = helper.make_model(helper.make_graph([node], "depthwise", names, [y]))
    zero = np.array(window.fill, np.uint8).view(np.int8)
    taps = weights.reshape(*window.kernel, 1, -1).transpose(3, 2, 0, 1)
    given: Any = {"x": image.transpose(2, 0, 1)[None], "w": taps, "z": zero}
    made: Any
    (made,) = ReferenceEvaluator(model).run(None, given)
    return np.asarray(made[0].transpose(1, 2, 0), np.int64)


@pytest.mark.parametrize("count", [150, pytest.param(4000, marks=pytest.mark.prove)])
def test_depthwise_sums_are_convolutions_of_onnx(count: int) -> None:
    """Any strides, dilations and pads, zero points, channels that fill no beat."""
    rng, compared = np.random.default_rng(count), 0
    while compared < count:
        window = depthwise_window(SPEC, rng)
        down = int(rng.integers(1, 6))
        reach = [
            (size - 1) * stride - edge
            for size, stride, edge in zip(
                (down, window.across), window.strides, window.first, strict=True
            )
        ]
        last = [
            at + (taps - 1) * step
            for at, taps, step in zip(reach, window.kernel, window.dilations, strict=True)
        ]
        if reach[0] >= window.height or reach[1] >= window.width or min(last) < 0:
            continue
        image = rng.integers(-128, 128, (window.height, window.width, window.pixel), np.int8)
        weights = rng.integers(-128, 128, (window.taps, window.channels), np.int8)
        flat = image.view(np.uint8).reshape(window.height, -1)[:, : window.row_bytes]
        bias = rng.integers(-1000, 1000, window.channels)
        found = sums(window, flat, weights.view(np.uint8), bias, down * window.across)
        right = of_onnx(window, image[:, :, : window.channels], weights, down)
        assert np.array_equal(found.reshape(right.shape) - bias, right), window
        compared += 1


def test_depthwise_jobs_are_their_sums_requantised() -> None:
    """In memory: with scales of columns or one, biases or none, a last row that is cut."""
    rng = np.random.default_rng(5)
    for _ in range(60):
        job = any_depthwise(SPEC, rng)
        window, drawn = job.window, job.requantisation
        assert window is not None
        assert drawn is not None
        how = replace(drawn, low=-128, high=127)
        job = replace(job, requantisation=how)
        memory = rng.integers(0, 256, 1 << 16, np.uint8)
        before = memory.copy()
        assert coprocessor(SPEC, memory, job) is Error.NONE
        found = matrices(SPEC, job)
        weights = found["b"].load(before).reshape(window.taps, job.n)
        bias = found["bias"].load(before)[0] if "bias" in found else np.zeros(job.n, np.int64)
        made = sums(window, found["a"].load(before), weights, bias, job.m)
        multiplier, shift, zero = how.multiplier, how.shift, how.zero_point
        if "records" in found:
            words = found["records"].load(before)[0].astype(np.uint64)
            multiplier = (words & np.uint64(0x7FFFFFFF)).astype(np.int64)
            shift = (words >> np.uint64(32) & np.uint64(63)).astype(np.int64)
            zero = (words >> np.uint64(48) & np.uint64(255)).astype(np.uint8).view(np.int8)
        made = (made + (1 << 31)) % (1 << 32) - (1 << 31)
        wanted = _codes(made, multiplier, shift, zero, how)
        codes = found["c"].load(memory).astype(np.uint8).view(np.int8)
        assert np.array_equal(codes, wanted), job


def _codes(
    made: np.ndarray, multiplier: Any, shift: Any, zero: Any, how: Requantisation
) -> np.ndarray:
    """Requantise exactly, in Python's integers: halves go to even."""
    rows = []
    for row in made.tolist():
        scales = (np.broadcast_to(one, len(row)).tolist() for one in (multiplier, shift, zero))
        codes = []
        for number, by, down, base in zip(row, *scales, strict=True):
            product, half = number * by, (1 << down) >> 1
            code = (product + half) >> down
            if down and product & (1 << down) - 1 == half:
                code &= ~1
            code += base
            low = max(how.low, base) if how.relu else how.low
            codes.append(min(max(code, low), how.high))
        rows.append(codes)
    return np.array(rows)


def _good() -> Job:
    window = Window(
        height=9, width=7, across=7, channels=10, pixel=12, kernel=(3, 3), first=(1, 1), fill=3
    )
    to = Requantisation(
        multiplier=np.array([1 << 30]), shift=np.array([35]), zero_point=np.array([1])
    )
    return Job(
        a=0, b=2000, c=3000, m=63, n=10, k=90, lda=84, ldb=0, ldc=10, vector="depthwise",
        requantisation=to, window=window,
    )  # fmt: skip


def _of(**changes: Any) -> Job:
    window = _good().window
    assert window is not None
    return replace(_good(), window=replace(window, **changes))


def test_depthwise_refusals() -> None:
    good, high = _good(), 1 << SPEC.address_width
    assert error_of(SPEC, good) is Error.NONE
    for error, job in (
        (Error.DIMENSION, replace(good, m=0)),
        (Error.DIMENSION, replace(good, k=0)),
        (Error.DIMENSION, _of(channels=0)),
        (Error.MODE, replace(good, window=None)),
        (Error.MODE, replace(good, requantisation=None)),
        (Error.MODE, replace(good, a_format=1)),
        (Error.MODE, replace(good, accumulate=True)),
        (Error.MODE, replace(good, vector="map_add")),
        (Error.MODE, replace(good, block_k=1)),
        (Error.WINDOW, _of(strides=(0, 1))),
        (Error.WINDOW, _of(pixel=11)),
        (Error.WINDOW, _of(pixel=16)),
        (Error.WINDOW, replace(good, n=9)),
        (Error.WINDOW, replace(good, k=91)),
        (Error.LEADING_DIMENSION, replace(good, lda=81)),
        (Error.LEADING_DIMENSION, replace(good, ldc=9)),
        (Error.WRAPS, replace(good, a=high - 8 * 84 - 81)),
        (Error.WRAPS, replace(good, b=high - 89)),
        (Error.WRAPS, replace(good, bias=high - 39)),
        (Error.WRAPS, replace(good, records=high - 79)),
        (Error.BLOCKS, _of(across=22)),
        (Error.BLOCKS, replace(_of(kernel=(22, 3)), k=660)),
        (Error.BLOCKS, replace(_of(kernel=(11, 4)), k=440)),
    ):
        assert error_of(SPEC, job) is error, job
    assert error_of(SPEC, _of(across=21)) is Error.NONE
    plain: Any = CoprocessorSpec()
    assert error_of(plain, good) is Error.MODE


def test_cycles_of_depthwise_layers() -> None:
    """Within 1.2 of pixels x kernel rows x channels by lanes, with as many taps as columns."""
    spec: Any = Design("coprocessor", BUILD | {"vector": "vector_unit(lanes=4,length=1024)"}).spec
    for side, kernel, channels in ((14, 3, 32), (28, 3, 16), (56, 3, 4), (20, 3, 12)):
        window = Window(
            height=side, width=side, across=side, channels=channels, pixel=channels,
            kernel=(kernel, kernel), first=(kernel // 2,) * 2,
        )  # fmt: skip
        job = replace(
            _good(), m=side * side, n=channels, k=window.codes, window=window, lda=side * channels,
            ldc=channels,
        )  # fmt: skip
        assert error_of(spec, job) is Error.NONE
        bound = side * side * kernel * channels / 4
        assert bound * 0.95 < cycles(spec, job) < bound * 1.2, (side, cycles(spec, job) / bound)


@pytest.mark.parametrize(("stride", "lines"), [(1, 30), (2, 29)])
def test_rows_that_are_read_once(stride: int, lines: int) -> None:
    """As many rows of windows at once as a row of the map is in: cycles of the map, and edges."""
    build = BUILD | {"vector": "vector_unit(lanes=4,length=1024)", "tap_rows": 3}
    spec: Any = Design("coprocessor", build).spec
    window = Window(
        height=28, width=28, across=28 // stride, channels=16, pixel=16, kernel=(3, 3),
        strides=(stride, stride), first=(1, 1),
    )  # fmt: skip
    job = replace(
        _good(), m=(28 // stride) ** 2, n=16, k=window.codes, window=window, lda=28 * 16, ldc=16
    )
    assert error_of(spec, job) is Error.NONE
    assert sum(read for _, read in rows_read(window, job.m, 3)) == lines
    by_pixels = lines * 30 * 16 // 4
    assert by_pixels * 0.9 < cycles(spec, job) < by_pixels * 1.1
    apart = replace(window, dilations=(2, 1))
    assert list(rows_read(apart, job.m, 3)) == list(rows_read(apart, job.m))


def test_tap_rows_are_of_windows() -> None:
    for change in ({"windows": False}, {"vector": "vector_unit(lanes=3,length=240)"}):
        with pytest.raises(ValueError, match=r"tap_rows must be 1 where .*, not 3"):
            Design("coprocessor", BUILD | {"tap_rows": 3} | change)


def test_rows_read_are_those_inside() -> None:
    window = Window(
        height=3, width=2, across=4, channels=1, pixel=4, kernel=(3, 1), strides=(2, 1),
        dilations=(2, 1), first=(3, 0),
    )  # fmt: skip
    # Rows -3, -1, 1; then -1, 1, 3; then 1, 3, 5; then none.
    assert list(rows_read(window, 14)) == [(4, 1), (4, 1), (4, 1), (2, 1)]
