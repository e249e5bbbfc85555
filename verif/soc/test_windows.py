"""Windows of a map: golden against onnx.reference and im2col; what makes none."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from carrysave.compiler.graph.im2col import Windows
from golden.soc.coprocessor import coprocessor
from golden.soc.job import Error
from golden.soc.job_check import matrices
from golden.soc.window import Window, window_rows
from hw.catalog import Design
from verif.soc.benches.windows import any_window
from verif.soc.driver.driver_rig import RNG
from verif.soc.driver.windows import WINDOWS as SPEC
from verif.soc.driver.windows import image, job_of


@pytest.mark.parametrize("count", [150, pytest.param(4000, marks=pytest.mark.prove)])
def test_products_of_windows_are_convolutions_of_onnx(count: int) -> None:
    """Any strides, dilations, pads of four sides; odd channels; kernels of 1 to 11."""
    rng, compared = RNG(count), 0
    while compared < count:
        window = any_window(rng)
        job = job_of(SPEC, rng, window)
        # Pads behind the last edges are what makes as many outputs.
        spread = [(k - 1) * d + 1 for k, d in zip(window.kernel, window.dilations, strict=True)]
        down = int(rng.integers(1, 6))
        pads = [
            (size - 1) * stride + reach - first - inputs
            for size, stride, reach, first, inputs in zip(
                (down, window.across),
                window.strides,
                spread,
                window.first,
                (window.height, window.width),
                strict=True,
            )
        ]
        if min(pads) < 0:
            continue
        job = replace(job, m=down * window.across)
        memory = image(rng)
        before = memory.copy()
        assert coprocessor(SPEC, memory, job) is Error.NONE
        found = matrices(SPEC, job)
        rows = np.stack([
            found["a"].load(before)[:, x * window.pixel :][:, : window.channels]
            for x in range(window.width)
        ])
        x = rows.transpose(2, 1, 0)[None].astype(np.uint8).view(np.int8)
        weights = found["b"].load(before).astype(np.uint8).view(np.int8)
        weights = weights.reshape(*window.kernel, window.channels, job.n).transpose(3, 2, 0, 1)
        node = helper.make_node(
            "ConvInteger",
            ["x", "w", "z"],
            ["y"],
            strides=window.strides,
            dilations=window.dilations,
            pads=[*window.first, *pads],
        )
        sides = [helper.make_tensor_value_info(name, TensorProto.INT8, None) for name in "xwz"]
        y = helper.make_tensor_value_info("y", TensorProto.INT32, None)
        model = helper.make_model(helper.make_graph([node], "convolution", sides, [y]))
        zero = np.array(window.fill, np.uint8).view(np.int8)
        # Beyond the edges is the zero point, which ConvInteger takes from all codes.
        wanted: Any
        (wanted,) = ReferenceEvaluator(model).run(None, {"x": x, "w": weights, "z": zero})
        sums = found["c"].load(memory).astype(np.uint32).view(np.int32)
        sums = sums.reshape(down, window.across, job.n)
        bias = int(zero) * weights.astype(np.int64).sum(axis=(1, 2, 3))
        assert np.array_equal(sums - bias, wanted[0].transpose(1, 2, 0)), window
        compared += 1


def test_windows_are_those_of_im2col() -> None:
    rng, compared = RNG(3), 0
    for _ in range(2000):
        window = any_window(rng)
        after = tuple(int(rng.integers(5)) for _ in range(2))
        cut = Windows(
            kernel=window.kernel,
            strides=window.strides,
            dilations=window.dilations,
            pads=(*window.first, *after),
        )
        outputs = cut.outputs((window.height, window.width))
        if min(outputs) < 1:
            continue
        window = replace(window, across=outputs[1])
        codes = rng.integers(0, 256, (window.height, window.width, window.channels))
        lines = np.zeros((window.height, window.width, window.pixel), np.int64)
        lines[:, :, : window.channels] = codes
        lines = lines.reshape(window.height, -1)[:, : window.row_bytes]
        count = outputs[0] * outputs[1]
        wanted = cut.cut(codes.transpose(2, 0, 1)[None], window.fill)
        wanted = wanted.reshape(count, window.channels, -1).transpose(0, 2, 1).reshape(count, -1)
        assert np.array_equal(window_rows(window, lines, count), wanted), window
        compared += 1
    assert compared > 1000


def test_a_window_of_one_tap_is_a_plain_product() -> None:
    rng = RNG(4)
    for _ in range(50):
        width, channels = int(rng.integers(1, 30)), int(rng.integers(1, 30))
        one = Window(height=1, width=width, across=width, channels=channels, pixel=channels + 3,
                     kernel=(1, 1))  # fmt: skip
        job = replace(job_of(SPEC, rng, one), m=width)
        plain = replace(job, window=None, lda=one.pixel, block_m=0, block_n=0, block_k=0)
        memory = image(rng)
        other = memory.copy()
        assert coprocessor(SPEC, memory, job) == coprocessor(SPEC, other, plain) == Error.NONE
        assert np.array_equal(memory, other)


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("coprocessor_stream", {}),
        ("coprocessor", {"blocks": False}),
        ("coprocessor", {"engine": "systolic_os(a_width=4)"}),
        ("coprocessor", {"engine": "npe(m=2,n=2,formats=int8,int4)"}),
        ("coprocessor", {"engine": "ternary_core(m=2,n=4,k=10)", "trits": True}),
    ],
)
def test_builds_that_make_no_windows_are_refused(name: str, parameters: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="windows must be false between streams, where"):
        Design(name, parameters | {"windows": True})


def test_a_build_without_windows_is_as_it_was() -> None:
    assert "windows" not in Design("coprocessor").key
    assert Design("coprocessor").digest == Design("coprocessor", {"windows": False}).digest
