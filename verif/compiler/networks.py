"""Small networks with what other people's networks have between products."""

from typing import Any

import numpy as np
import onnx

from carrysave.compiler.run.exact_product import saturates
from verif.networks.graphs import Builder

__all__ = ["SHAPE", "Coded", "attention", "feature_maps", "gates", "greatest_rows", "places"]

SHAPE = (1, 6, 4, 4)


class Coded(Builder):
    """A builder of networks in which quantisers stand between operators."""

    def coded(self, name: str, step: float = 0.05, low: int = 90, high: int = 160) -> str:
        """Round floats to codes, and take these as floats again."""
        given = [self.constant(step), self.constant(self.rng.integers(low, high), np.uint8)]
        self.node("QuantizeLinear", [name, *given], f"{name}_q")
        return self.node("DequantizeLinear", [f"{name}_q", *given], f"{name}_d")

    def started(self) -> str:
        """Take the input as floats."""
        given = [self.constant(0.05), self.constant(120, np.uint8)]
        return self.node("DequantizeLinear", ["x", *given], "f")

    def weighted(self, kind: str, x: str, shape: tuple[int, ...], y: str) -> str:
        """Multiply by constant codes, and round the results to codes."""
        steps = [self.constant(0.008 if saturates() else 0.004), self.constant(0, np.int8)]
        self.node("DequantizeLinear", [self.judged_weights(shape), *steps], f"{y}_w")
        return self.coded(self.node(kind, [x, f"{y}_w"], y))

    def floats(self, *shape: int, low: float = -1, high: float = 1) -> str:
        """Add random floats."""
        return self.constant(self.rng.uniform(low, high, shape))

    def whole(self, *values: int) -> str:
        """Add integers."""
        return self.constant(values, np.int64)

    def ended(self, name: str, shape: list[int], given: tuple[int, ...] = SHAPE) -> onnx.ModelProto:
        """Round the last floats to codes."""
        step = [self.constant(0.05), self.constant(128, np.uint8)]
        self.node("QuantizeLinear", [name, *step], "y")
        return self.model(given, np.uint8, np.uint8, shape)


def feature_maps(seed: int) -> onnx.ModelProto:
    """Return a network of maps: normalised, pooled, resized, padded, joined, and weighted."""
    b = Coded(np.random.default_rng(seed), 17)
    x = b.weighted("Conv", b.started(), (8, 6, 1, 1), "c")
    b.node(
        "BatchNormalization",
        [
            b.node("Relu", [x], "r"),
            b.floats(8),
            b.floats(8),
            b.floats(8),
            b.floats(8, low=0.5, high=2),
        ],
        "n",
    )
    small = b.node(
        "AveragePool", [b.coded("n")], "p", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 0, 0]
    )
    scales = b.constant([1, 1, 2, 2])
    wide = b.node(
        "Resize",
        [b.coded(small), "", scales],
        "u",
        mode="nearest",
        coordinate_transformation_mode="asymmetric",
        nearest_mode="floor",
    )
    beyond = b.node("Pad", [b.coded(wide), b.whole(0, 0, 1, 0, 0, 0, 0, 1)], "e")
    inside = b.node("Slice", [beyond, b.whole(1, 0), b.whole(5, 4), b.whole(2, 3)], "i")
    b.node("Split", [inside, b.whole(3, 5)], "s", axis=1)
    b.nodes[-1].output.append("t")
    b.node("LeakyRelu", [b.coded("t", 0.03)], "l", alpha=0.2)
    joined = b.node("Concat", [b.coded("l", 0.07), b.coded("s", 0.04)], "j", axis=1)
    whole = b.coded(joined, 0.06)
    means = b.node("ReduceMean", [whole], "m", axes=[2, 3], keepdims=1)
    b.node("Mul", [whole, b.coded(means, 0.01)], "g")
    last = b.weighted("Conv", b.coded("g", 0.01), (4, 8, 3, 3), "o")
    return b.ended(last, [1, 4, 2, 2])


def attention(seed: int) -> onnx.ModelProto:
    """Return a network of rows: attention of two heads, a layer norm in pieces, and a gelu."""
    b = Coded(np.random.default_rng(seed), 17)
    x = b.weighted("Conv", b.started(), (8, 6, 1, 1), "c")
    b.node("Transpose", [b.node("Reshape", [x, b.whole(1, 8, 16)], "c1")], "c2", perm=[0, 2, 1])
    rows = b.coded("c2")
    parts = {}
    for name in "qkv":
        own = b.weighted("MatMul", rows, (8, 8), name)
        heads = b.node("Reshape", [own, b.whole(1, 16, 2, 4)], f"{name}1")
        b.node("Transpose", [heads], f"{name}2", perm=[0, 2, 3, 1] if name == "k" else [0, 2, 1, 3])
        parts[name] = b.coded(f"{name}2")
    scores = b.coded(b.node("MatMul", [parts["q"], parts["k"]], "a"), 0.1)
    b.node("Softmax", [b.node("Mul", [scores, b.constant(0.5)], "a1")], "a2", axis=-1)
    b.node("MatMul", [b.coded("a2", 1 / 256, 0, 1), parts["v"]], "z")
    back = b.node("Transpose", [b.coded("z", 0.02)], "z1", perm=[0, 2, 1, 3])
    flat = b.node("Reshape", [back, b.whole(1, 16, 8)], "z2")
    b.node("Sub", [flat, b.node("ReduceMean", [flat], "h1", axes=[-1])], "h2")
    b.node("Pow", ["h2", b.constant(2)], "h3")
    b.node("Add", [b.node("ReduceMean", ["h3"], "h4", axes=[-1]), b.constant(1e-5)], "h5")
    b.node("Div", ["h2", b.node("Sqrt", ["h5"], "h6")], "h7")
    b.node("Add", [b.node("Mul", ["h7", b.floats(8)], "h8"), b.floats(8)], "h9")
    b.node("Erf", [b.node("Mul", ["h9", b.constant(0.5**0.5)], "e1")], "e2")
    b.node("Mul", ["h9", b.node("Add", ["e2", b.constant(1)], "e3")], "e4")
    last = b.weighted("MatMul", b.coded("e4", 0.02), (8, 5), "o")
    return b.ended(last, [1, 16, 5])


def gates(seed: int, batch: int = 3) -> onnx.ModelProto:
    """Return a network whose channels have gates, made of their means, and have these added."""
    b = Coded(np.random.default_rng(seed), 17)
    x = b.weighted("Conv", b.started(), (7, 6, 1, 1), "c")
    means = b.coded(b.node("GlobalAveragePool", [x], "m"), 0.02)
    gate = b.weighted("Conv", means, (7, 7, 1, 1), "e")
    # The gate is either operand.
    some = b.coded(b.node("Mul", [gate, x] if seed % 2 else [x, gate], "g"), 0.03)
    b.node("Add", [means, some], "s")
    last = b.weighted("Conv", b.coded("s", 0.043), (4, 7, 1, 1), "o")
    return b.ended(last, [batch, 4, 4, 4], (batch, *SHAPE[1:]))


def places(
    shape: tuple[int, ...],
    kind: Any = np.uint8,
    *,
    product: bool = False,
    scale: float = 0.02,
    **more: Any,
) -> onnx.ModelProto:
    """Return a network of an ArgMax of codes: of its input, or of what a product made of it."""
    b = Builder(np.random.default_rng(1), 17)
    steps = [b.constant(scale), b.constant(120 if kind == np.uint8 else -7, kind)]
    name = b.node("DequantizeLinear", ["x", *steps], "f")
    if product:
        square = (shape[1], shape[1], *(1,) * (len(shape) - 2))
        given = [b.judged_weights(square), b.constant(0.01), b.constant(0, np.int8)]
        b.node("DequantizeLinear", given, "w")
        b.node("Conv" if len(shape) > 2 else "MatMul", ["f", "w"], "g")
        b.node("QuantizeLinear", ["g", *steps], "h")
        name = b.node("DequantizeLinear", ["h", *steps], "k")
    b.node("ArgMax", [name], "y", **more)
    axis, made = more.get("axis", 0), list(shape)
    made[axis : axis % len(shape) + 1] = [1] if more.get("keepdims", 1) else []
    return b.model(shape, kind, np.int64, made)


def greatest_rows(
    shape: tuple[int, ...], count: int, kind: Any = np.uint8, **more: Any
) -> onnx.ModelProto:
    """Return a network of a product, and a TopK of what its codes stand for."""
    b = Builder(np.random.default_rng(1), 17)
    steps = [b.constant(0.02), b.constant(120 if kind == np.uint8 else -7, kind)]
    square = (shape[1], shape[1], *(1,) * (len(shape) - 2))
    # Of 0.01 some sums are halves of a code, which processors round to either side in floats.
    given = [b.judged_weights(square), b.constant(0.0113), b.constant(0, np.int8)]
    b.node("DequantizeLinear", ["x", *steps], "f")
    b.node("DequantizeLinear", given, "w")
    b.node("Conv" if len(shape) > 2 else "MatMul", ["f", "w"], "g")
    b.node("QuantizeLinear", ["g", *steps], "h")
    b.node("DequantizeLinear", ["h", *steps], "k")
    counts = b.constant([count], np.int64)
    b.nodes.append(onnx.helper.make_node("TopK", ["k", counts], ["y", "places"], **more))
    size = [*shape]
    size[more.get("axis", -1)] = count
    model = b.model(shape, kind, np.float32, size)
    model.graph.output.append(
        onnx.helper.make_tensor_value_info("places", onnx.TensorProto.INT64, size)
    )
    return model
