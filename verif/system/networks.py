"""A small convolution network with all that the firmware does between products."""

import numpy as np
import onnx

from verif.networks.graphs import Builder

__all__ = ["SHAPE", "convolutions"]

SHAPE = (1, 6, 4, 4)


def convolutions(seed: int = 3, between: str = "", *, ceil: bool = False) -> onnx.ModelProto:
    """Return a depthwise convolution, windows of it, and a product of what they are moved to.

    Parameters
    ----------
    between : an operator that is put before the last product.
    ceil : windows reach beyond the edges by ``ceil_mode``, not by padding.
    """
    builder = Builder(np.random.default_rng(seed), opset=17)
    kernel = [
        builder.judged_weights((6, 1, 3, 3)),
        builder.scale(6),
        builder.constant(np.zeros(6), np.int8),
        builder.constant(0.1),
        builder.zero(np.uint8),
        builder.constant(builder.rng.integers(-5000, 5000, 6), np.int32),
    ]
    inputs = ["x", builder.scale(), builder.zero(np.uint8), *kernel]
    builder.node("QLinearConv", inputs, "c", group=6, pads=[1, 1, 1, 1])
    scale, zero = kernel[3:5]
    builder.node("DequantizeLinear", ["c", scale, zero], "f")
    pool = {"ceil_mode": 1, "kernel_shape": [3, 3]} if ceil else {"kernel_shape": [2, 2]}
    builder.node("MaxPool", ["f"], "p", strides=[2, 2], pads=[0, 0, *[1 - ceil] * 2], **pool)
    builder.node("Transpose", ["p"], "t", perm=[0, 2, 3, 1])
    last = builder.node(between, ["t"], "o") if between else "t"
    builder.node("QuantizeLinear", [last, scale, zero], "q")
    size = 6 * 4
    builder.node("Reshape", ["q", builder.constant([1, size], np.int64)], "r")
    product = [
        "r",
        scale,
        zero,
        builder.judged_weights((size, 10)),
        builder.scale(),
        builder.constant(0, np.int8),
        builder.constant(4.0),
        builder.constant(120, np.uint8),
    ]
    builder.node("QLinearMatMul", product, "y")
    return builder.model(SHAPE, np.uint8, np.uint8, [1, 10])
