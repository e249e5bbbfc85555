"""Halves: codes of products whose scales are powers of two, against onnxruntime."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from carrysave.compiler.run.compare import Comparison
from carrysave.compiler.target.target import Target
from hw.catalog import Design
from verif.networks.comparing import draw, lowered, multiplier
from verif.networks.graphs import Builder

U8, I8 = np.uint8, np.int8
TARGETS = {
    rounding: Target(
        Design("coprocessor", {"engine": "systolic_os(m=4,n=4)", "requantiser_rounding": rounding})
    )
    for rounding in ("even", "single", "double")
}


def _power(builder: Builder, *count: int) -> str:
    """Add scales that are powers of two."""
    return builder.constant(np.exp2(-builder.rng.integers(3, 5, count).astype(np.float32)))


def _product(builder: Builder, kind: Any) -> tuple[int, ...]:
    """QLinearMatMul, with a scale for each column."""
    right = [builder.codes((24, 40), I8), _power(builder, 40), builder.constant(np.zeros(40), I8)]
    left, last = ([_power(builder), builder.zero(kind)] for _ in range(2))
    last[0] = builder.constant(2.0)
    builder.node("QLinearMatMul", ["x", *left, *right, *last], "y")
    return (150, 24)


def _convolution(builder: Builder, kind: Any) -> tuple[int, ...]:
    """QLinearConv, with a scale for each channel, and biases."""
    right = [builder.codes((8, 3, 3, 3), I8), _power(builder, 8), builder.constant(np.zeros(8), I8)]
    bias = builder.constant(builder.rng.integers(-900, 900, 8), np.int32)
    left, last = ([_power(builder), builder.zero(kind)] for _ in range(2))
    last[0] = builder.constant(2.0)
    builder.node("QLinearConv", ["x", *left, *right, *last, bias], "y")
    return (4, 3, 16, 16)


def _quantisers(builder: Builder, kind: Any) -> tuple[int, ...]:
    """MatMul between quantisers, as hls4ml's, FINN's and Brevitas' files have it."""
    zero, none = builder.zero(kind), builder.constant(0, I8)
    builder.node("DequantizeLinear", ["x", _power(builder), zero], "left")
    weights = builder.codes((24, 40), I8)
    builder.node("DequantizeLinear", [weights, _power(builder), none], "right")
    builder.node("MatMul", ["left", "right"], "float")
    builder.node("Relu", ["float"], "positive")
    builder.node("QuantizeLinear", ["positive", builder.constant(2.0), zero], "y")
    return (150, 24)


BUILT = [_product, _convolution, _quantisers]


@pytest.mark.parametrize("kind", [U8, I8])
@pytest.mark.parametrize("build", BUILT)
def test_halves_are_onnxruntimes(build: Callable[..., tuple[int, ...]], kind: Any) -> None:
    """All of them, in hardware; of the other roundings some are one step away."""
    builder = Builder(np.random.default_rng(6))
    shape = build(builder, kind)
    network = lowered(builder, shape, kind, kind)
    x = draw(np.random.default_rng(7), shape, kind)
    differ = {}
    for rounding, target in TARGETS.items():
        comparison = Comparison(network)
        comparison.run({"x": x}, multiplier(True, target))
        (found,) = comparison.products.values()
        assert found.codes > 3000
        assert found.most == (rounding != "even")
        differ[rounding] = found.differ / found.codes
    assert differ["even"] == 0
    # Of those that no limit hides, one in 2^10 to one in 2^7.
    assert min(differ["single"], differ["double"]) > 2**-11
