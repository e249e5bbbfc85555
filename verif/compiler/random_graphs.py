"""Random quantised networks: chains and joins of all that passes know, with random codes."""

import numpy as np
from onnx import ModelProto

from verif.networks.graphs import Builder

__all__ = ["random_model"]

_ONE = ("Relu", "Sigmoid", "Tanh", "HardSwish", "HardSigmoid", "LeakyRelu", "Abs", "Neg", "Sqrt")
_TWO = ("Add", "Mul", "Sub", "Max", "Min")
_SHAPE = (2, 4, 6, 5)


class _Random(Builder):
    """Draws nodes; each step takes floats of codes to others."""

    def __init__(self, rng: np.random.Generator) -> None:
        super().__init__(rng, opset=int(rng.integers(17, 22)))
        self.made: list[tuple[str, tuple[int, ...]]] = []

    def coded(self, name: str) -> str:
        """Round floats to codes, and take these as floats again."""
        step, zero = self.constant(self.rng.uniform(0.01, 0.1)), self.zero(np.uint8)
        self.node("QuantizeLinear", [name, step, zero], f"{name}_q")
        return self.node("DequantizeLinear", [f"{name}_q", step, zero], f"{name}_d")

    def weights(self, name: str, shape: tuple[int, ...]) -> str:
        """Add weights, with one scale or one for each column of a convolution."""
        count = (shape[0],) if len(shape) > 2 and self.rng.random() < 0.5 else ()
        zero = self.constant(np.zeros(count), np.int8)
        inputs = [self.codes(shape, np.int8), self.scale(*count), zero]
        return self.node("DequantizeLinear", inputs, name, axis=0)

    def one(self, x: str, name: str) -> str:
        """Add an operator of one operand; no root of what is negative: its code is not defined."""
        kind = str(self.rng.choice(_ONE))
        if kind == "Sqrt":
            x = self.node("Abs", [x], f"{name}_a")
        return self.node(kind, [x], name)

    def step(self, number: int) -> None:
        """Add one operator, and mostly its quantiser."""
        rng, name = self.rng, f"t{number}"
        x, shape = self.made[int(rng.integers(len(self.made)))]
        kind = rng.choice(["conv", "one", "two", "move", "pool", "mean", "gate", "matmul"])
        if kind == "conv" and min(shape[2:]) >= 3:
            size, groups = int(rng.integers(1, 4)), 2 if rng.random() < 0.3 else 1
            weights = self.weights(f"{name}_w", (6, shape[1] // groups, size, size))
            pads, stride = [int(one) for one in rng.integers(0, 2, 4)], int(rng.integers(1, 3))
            self.node("Conv", [x, weights], name, pads=pads, strides=[stride] * 2, group=groups)
            sizes = [
                (n + pads[i] + pads[i + 2] - size) // stride + 1 for i, n in enumerate(shape[2:])
            ]
            shape = (shape[0], 6, *sizes)
        elif kind == "matmul":
            # A matrix, one for each channel, or one in blocks.
            outer = [(), (shape[1],), (1, 1)][int(rng.integers(3))]
            codes = rng.integers(-128, 128, (*outer, shape[3], 4))
            if not outer and shape[3] % 2 == 0:
                codes[: shape[3] // 2, 2:] = codes[shape[3] // 2 :, :2] = 0
            given = [self.constant(codes, np.int8), self.scale(), self.constant(0, np.int8)]
            self.node("DequantizeLinear", given, f"{name}_w")
            self.node("MatMul", [x, f"{name}_w"], name)
            shape = (*shape[:3], 4)
        elif kind == "two":
            same = [one for one, other in self.made if other == shape]
            self.node(str(rng.choice(_TWO)), [x, str(rng.choice(same))], name)
        elif kind == "move":
            if rng.random() < 0.5:
                x = self.one(x, f"{name}_o")
            self.node("Transpose", [x], f"{name}_t", perm=[0, 1, 3, 2])
            start = int(rng.integers(shape[3]))
            ends = [self.constant([one], np.int64) for one in (start, shape[3], 2)]
            self.node("Slice", [f"{name}_t", *ends], name)
            shape = (*shape[:2], shape[3] - start, shape[2])
        elif kind == "pool" and min(shape[2:]) >= 2:
            self.node("MaxPool", [x], name, kernel_shape=[2, 2], pads=[0, 0, 1, 1])
        elif kind == "mean":
            self.node("GlobalAveragePool", [x], name)
            shape = (*shape[:2], 1, 1)
        elif kind == "gate" and shape[2:] != (1, 1):
            self.node("GlobalAveragePool", [x], f"{name}_m")
            self.node("HardSigmoid", [self.coded(f"{name}_m")], f"{name}_s")
            self.node("Mul", [x, self.coded(f"{name}_s")], name)
        else:
            self.one(x, name)
        self.made.append((self.coded(name) if rng.random() < 0.85 else name, shape))


def random_model(seed: int, steps: int = 12) -> tuple[ModelProto, np.ndarray]:
    """Return a network of one input and one output, and an input of codes for it."""
    rng = np.random.default_rng(seed)
    builder = _Random(rng)
    builder.node("DequantizeLinear", ["x", builder.scale(), builder.zero(np.uint8)], "x_d")
    weights = builder.weights("first_w", (4, _SHAPE[1], 1, 1))
    builder.node("Conv", ["x_d", weights], "first")
    builder.made.append((builder.coded("first"), _SHAPE))
    for number in range(steps):
        builder.step(number)
    # All that was made goes into the output, so that no node is dropped.
    flat = [builder.node("Flatten", [name], f"{name}_flat") for name, _ in builder.made]
    builder.node("Concat", flat, "all", axis=1)
    builder.node("QuantizeLinear", ["all", builder.constant(0.05), builder.zero(np.uint8)], "y")
    size = sum(int(np.prod(shape[1:])) for _, shape in builder.made)
    model = builder.model(_SHAPE, np.uint8, np.uint8, [_SHAPE[0], size])
    return model, rng.integers(0, 256, _SHAPE).astype(np.uint8)
