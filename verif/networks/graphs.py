"""Small quantised models with random weights, for tests."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from onnx import NodeProto, helper, numpy_helper

from carrysave.compiler.run.exact_product import saturates

__all__ = ["Builder"]


def judged(codes: np.ndarray) -> np.ndarray:
    """Return weights of int8 whose products onnxruntime sums exactly on this processor.

    All are halved where its kernel of unsigned times signed bytes saturates.
    """
    return codes // 2 if saturates() else codes


class Builder:
    """Collects nodes and constants of a model with one input, `x`, and one output, `y`."""

    def __init__(self, rng: np.random.Generator, opset: int = 21) -> None:
        self.rng = rng
        self.opset = opset
        self.nodes: list[NodeProto] = []
        self.constants: list[Any] = []

    def constant(self, values: Any, kind: Any = np.float32) -> str:
        """Add a constant; returns its name."""
        name = f"constant{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(values, dtype=kind), name))
        return name

    def codes(self, shape: Sequence[int], kind: Any) -> str:
        """Add random codes of all values of a type."""
        limits = np.iinfo(kind)
        return self.constant(self.rng.integers(limits.min, limits.max + 1, shape), kind)

    def judged_weights(self, shape: Sequence[int]) -> str:
        """Add random codes of int8 as weights of products that onnxruntime judges."""
        return self.constant(judged(self.rng.integers(-128, 128, shape)), np.int8)

    def scale(self, *count: int) -> str:
        """Add one scale, or a row of them."""
        return self.constant(self.rng.uniform(0.001, 0.02, count))

    def zero(self, kind: Any, *count: int) -> str:
        """Add a zero point, or a row of them."""
        return self.codes(count, kind)

    def node(self, kind: str, inputs: Sequence[str], output: str, **attributes: Any) -> str:
        """Add an operator; returns its output."""
        domain = attributes.pop("domain", "")
        made = helper.make_node(
            kind, list(inputs), [output], f"{kind}_{output}", domain=domain, **attributes
        )
        self.nodes.append(made)
        return output

    def model(
        self,
        shape: Sequence[int | str],
        kind: Any,
        out: Any,
        found: Sequence[str | int] | None = None,
    ) -> onnx.ModelProto:
        """Put the model together: shape and type of x, type and shape of y."""
        types = (helper.np_dtype_to_tensor_dtype(np.dtype(one)) for one in (kind, out))
        x, y = (
            helper.make_tensor_value_info(name, number, size)
            for name, number, size in zip("xy", types, (shape, found), strict=True)
        )
        graph = helper.make_graph(self.nodes, "test", [x], [y], self.constants)
        opsets = [helper.make_opsetid("", self.opset), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=10)
