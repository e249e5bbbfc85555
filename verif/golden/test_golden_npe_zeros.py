"""Zero points of blocks of B in the array of lanes: against onnxruntime, numpy and Fractions."""

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from golden.lut.checkpoint import from_gptq, to_gptq
from golden.lut.quantise import QuantiseSpec, quantise
from golden.npe.npe import NpeSpec, npe

BLOCK = 16


def by_onnxruntime(
    a: np.ndarray, codes: np.ndarray, steps: np.ndarray, zeros: np.ndarray, kind: int
) -> np.ndarray:
    """Multiply by weights that onnxruntime dequantises in blocks of K, in float32."""
    nodes = [
        helper.make_node("DequantizeLinear", ["b", "s", "z"], ["w"], axis=0, block_size=BLOCK),
        helper.make_node("MatMul", ["a", "w"], ["y"]),
    ]
    weights = [
        numpy_helper.from_array(steps.astype(np.float32), "s"),
        helper.make_tensor("b", kind, codes.shape, codes.reshape(-1)),
        helper.make_tensor("z", kind, zeros.shape, zeros.reshape(-1)),
    ]
    graph = helper.make_graph(
        nodes,
        "blocks",
        [helper.make_tensor_value_info("a", TensorProto.FLOAT, a.shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        weights,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    options = onnxruntime.SessionOptions()
    # Else activations of both nodes as one are rounded.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return session.run(None, {"a": a.astype(np.float32)})[0]


@pytest.mark.parametrize(("name", "kind"), [("int8", TensorProto.INT8), ("int4", TensorProto.INT4)])
@pytest.mark.parametrize("scale", ["none", "e5m3", "e8m0", "e4m3"])
def test_zero_points_are_those_of_onnxruntime(name: str, kind: int, scale: str) -> None:
    """Exactly: sums, and scales that are powers of two, have few enough bits for float32."""
    spec = NpeSpec(
        formats="int8,int4",
        zeros=True,
        scale=scale,
        block=BLOCK,
        result="fixed" if scale == "none" else "fp32",
    )
    index = spec.element.index(name)
    fmt = spec.element.elements[index]
    rng, k = np.random.default_rng(1), 3 * BLOCK
    a = rng.integers(-8, 8, (5, k))
    b, zeros = (rng.integers(fmt.low, fmt.high + 1, shape) for shape in ((k, 6), (3, 6)))
    one = {"none": 0, "e8m0": 127, "e4m3": 56, "e5m3": 120}[scale]
    octave = 1 if scale == "e8m0" else 8
    powers = rng.integers(-2, 3, (3, 6))
    more: list[np.ndarray | None] = [np.full((5, 3), one), one + octave * powers]
    if scale == "none":
        more = [None, None]
    found, invalid, _ = npe(spec, a, b, 1, index, more[0], more[1], zeros)
    steps = np.ones((3, 6)) if scale == "none" else 2.0**powers
    due = by_onnxruntime(a, b, steps, zeros, kind)
    values = found if scale == "none" else found.astype(np.uint32).view(np.float32)
    assert np.array_equal(values, due)
    assert not invalid.any()


def test_zero_points_are_subtracted_from_sums_as_well() -> None:
    """Sums of a (b - z) are those of a b less z times those of a; the last block is shorter."""
    spec = NpeSpec(formats="int8,int4", zeros=True, block=4)
    rng = np.random.default_rng(2)
    a, b = rng.integers(-128, 128, (3, 10)), rng.integers(-128, 128, (10, 4))
    zeros = rng.integers(-128, 128, (3, 4))
    due = a @ b
    for block, start in enumerate(range(0, 10, 4)):
        due -= np.outer(a[:, start : start + 4].sum(axis=1), zeros[block])
    assert np.array_equal(npe(spec, a, b, 0, 0, b_zeros=zeros)[0], due)


def test_weights_of_gptq_are_taken_as_they_are() -> None:
    """Codes and zero points of 4 bits, both less 8."""
    rng = np.random.default_rng(3)
    made = quantise(
        QuantiseSpec(bits=4, group=32, scheme="asymmetric", scale_format="fp16"),
        rng.normal(size=(64, 8)),
    )
    weights = from_gptq(to_gptq(made), "fp16")
    assert weights.zeros is not None
    spec = NpeSpec(formats="int8,int4", zeros=True, block=32)
    a = rng.integers(-128, 128, (3, 64))
    found, _, _ = npe(spec, a, weights.codes - 8, 0, 1, b_zeros=weights.zeros - 8)
    assert np.array_equal(found, a @ weights.integers)


def test_sums_of_differences_have_room() -> None:
    assert NpeSpec(formats="int8", zeros=True, accumulator_width=24).k_max_words(0, 0) == 255
    assert NpeSpec(formats="int8", accumulator_width=24).k_max_words(0, 0) == 511
    spec = NpeSpec(formats="int8", zeros=True, accumulator_width=24, block=128)
    a, b, zeros = np.full((1, 255), -128), np.full((255, 1), 127), np.full((2, 1), -128)
    assert npe(spec, a, b, 0, 0, b_zeros=zeros)[0][0, 0] == 255 * -128 * 255
    scaled = NpeSpec(formats="int8", zeros=True, scale="e5m3", result="fp32")
    assert scaled.block_scale.sum_width == 22


def test_zero_points_are_refused_where_they_do_not_fit() -> None:
    a, b, zeros = np.zeros((2, 40), int), np.zeros((40, 3), int), np.zeros((2, 3), int)
    spec = NpeSpec(formats="int8,int4", zeros=True)
    with pytest.raises(TypeError, match="b_zeros must be there where zeros is, True"):
        npe(spec, a, b, 0, 0)
    with pytest.raises(TypeError, match="b_zeros must be there where zeros is, False"):
        npe(NpeSpec(), a, b, 0, 0, b_zeros=zeros)
    with pytest.raises(ValueError, match=r"b_zeros must be \(2, 3\), one for each block of 32"):
        npe(spec, a, b, 0, 0, b_zeros=zeros.T)
    with pytest.raises(ValueError, match=r"b_zeros must be -8\.\.7 \(int4\), not 8"):
        npe(spec, a, b, 0, 1, b_zeros=zeros + 8)
    for more in ({"formats": "int8,e4m3"}, {"formats": "int8", "lane": "sl16"}):
        with pytest.raises(ValueError, match="formats must be of int8, int4 with zeros, in lane"):
            NpeSpec(zeros=True, **more)  # type: ignore[arg-type]
    with pytest.raises(
        ValueError, match="block must be a multiple of the 2 codes of a word, not 3"
    ):
        NpeSpec(formats="int4", zeros=True, block=3)
    with pytest.raises(ValueError, match=r"accumulator_width must be 10\.\.128 bits for int4 with"):
        NpeSpec(formats="int4", zeros=True, accumulator_width=9)
