"""Golden sums and products of maps of codes against onnxruntime's, on all pairs of codes."""

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from golden.npe.elements import add, factored, multiply
from golden.npe.requantiser import Requantisation, RequantiserSpec, dyadic
from golden.soc.maps import maps

CODES = np.arange(-128, 128)
PAIRS = np.repeat(CODES, 256), np.tile(CODES, 256)
UNIT = RequantiserSpec(n=1, width=32, rounding="even")
FACTOR = 23
"""Bits of a factor, with sums of 32."""
Scales = tuple[float, float, float]
Zeros = tuple[int, int, int]


def of_onnxruntime(operator: str, scales: Scales, zeros: Zeros) -> np.ndarray:
    """Run onnxruntime's operator on codes, between its own conversions to floats and back.

    Its fused operators add the zero point before they round, so that halves go to even codes, not
    to even multiples of the scale.
    """
    given, nodes = [], []
    for side, scale, zero in zip("abc", scales, zeros, strict=True):
        given += [
            numpy_helper.from_array(np.array(scale, np.float32), f"{side}_scale"),
            numpy_helper.from_array(np.array(zero, np.int8), f"{side}_zero"),
        ]
        one, other = (side, f"{side}_value")[:: -1 if side == "c" else 1]
        kind = "QuantizeLinear" if side == "c" else "DequantizeLinear"
        nodes.append(helper.make_node(kind, [one, f"{side}_scale", f"{side}_zero"], [other]))
    nodes.insert(2, helper.make_node(operator, ["a_value", "b_value"], ["c_value"]))
    types = [helper.make_tensor_value_info(name, TensorProto.INT8, [1 << 16]) for name in "abc"]
    graph = helper.make_graph(nodes, "codes", types[:2], types[2:], given)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    codes = {name: one.astype(np.int8) for name, one in zip("ab", PAIRS, strict=True)}
    return np.asarray(session.run(None, codes)[0], dtype=np.int64)


def of_golden(operator: str, scales: Scales, zeros: Zeros) -> np.ndarray:
    """Compute the same in whole numbers."""
    a, b = (codes - zero for codes, zero in zip(PAIRS, zeros, strict=False))
    factors, unit = factored(scales[:2], FACTOR)
    scale = scales[0] * scales[1] if operator == "Mul" else unit
    multiplier, shift = dyadic(scale / scales[2])
    to = Requantisation(multiplier=multiplier, shift=shift, zero_point=np.array(zeros[2:]))
    return multiply(a, b, UNIT, to) if operator == "Mul" else add(a, b, factors, UNIT, to)


@pytest.mark.parametrize("operator", ["Add", "Mul"])
@pytest.mark.parametrize("seed", range(4))
def test_maps_of_any_scales_are_onnxruntimes(operator: str, seed: int) -> None:
    """All but a few in a million, which float32 or a factor's last bit moves past a half."""
    rng = np.random.default_rng(seed)
    one, other = (float(np.float32(scale)) for scale in rng.uniform(0.01, 0.1, 2))
    spread = one * other * 150 if operator == "Mul" else one + other
    made = float(np.float32(spread * rng.uniform(0.7, 1.4)))
    scales, zeros = (one, other, made), tuple(rng.integers(-128, 128, 3).tolist())
    right = of_onnxruntime(operator, scales, zeros)
    found = of_golden(operator, scales, zeros)
    wrong = found != right
    assert np.abs(found - right).max() <= 1
    assert wrong.sum() <= 3
    assert len(np.unique(right)) > 60


@pytest.mark.parametrize("operator", ["Add", "Mul"])
@pytest.mark.parametrize("zeros", [(0, 0, 0), (-128, 127, 5), (3, -60, -128)])
def test_maps_whose_halves_go_to_even_are_onnxruntimes(operator: str, zeros: Zeros) -> None:
    """Scales of powers of two, which make many halves."""
    scales = (0.5, 0.25, 16.0) if operator == "Mul" else (0.5, 0.25, 0.5)
    assert np.array_equal(
        of_golden(operator, scales, zeros), of_onnxruntime(operator, scales, zeros)
    )


def test_max_of_maps_of_one_scale_is_that_of_codes() -> None:
    """As of pooling; and of a map and itself times a factor, a leaky ReLU."""
    to = Requantisation(multiplier=np.array([1]), shift=np.array([0]), zero_point=np.array([-9]))
    found = maps("map_max", PAIRS, (-9, -9), (1, 1), UNIT, to)
    assert np.array_equal(found, np.maximum(*PAIRS))
    factors, unit = factored((1.0, 0.125), FACTOR)
    multiplier, shift = dyadic(unit)
    leaky = maps(
        "map_max",
        (CODES, CODES),
        (-9, -9),
        factors,
        UNIT,
        Requantisation(multiplier=multiplier, shift=shift, zero_point=np.array([-9])),
    )
    right = np.where(CODES < -9, np.rint((CODES + 9) / 8), CODES + 9) - 9
    assert np.array_equal(leaky, right)


def test_factored_scales() -> None:
    assert factored((0.5, 0.25), 23) == ((1 << 21, 1 << 20), 2.0**-22)
    assert factored((-2.9, 1.1), 8)[0] == (-64, 24)
    # What is exact stays so.
    assert factored((-3.0, 1.0), 8) == ((-48, 16), 1 / 16)
    assert factored((0.7, 0.5), 8) == ((45, 32), 1 / 64)
    with pytest.raises(ValueError, match="scales must be some above 0, not"):
        factored((0.0, 0.0), 23)
