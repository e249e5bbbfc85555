"""Comparison with onnxruntime: operator by operator, each fed onnxruntime's codes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .code_types import steps_apart
from .evaluate import Multiply, evaluate
from .lower import Lowered
from .product_base import Operands
from .reference_runtime import Oracle

__all__ = ["Comparison", "Difference"]

_CAUSES = {
    True: "rounds sums times a scale once, halves up; onnxruntime rounds to float32 first",
    False: "runs in floats on the host; onnxruntime has its own kernel for codes",
}


@dataclass
class Difference:
    """How codes of one operator differ.

    Members
    -------
    codes, differ : number of codes, and of differing ones.
    most : largest difference, in steps.
    """

    codes: int = 0
    differ: int = 0
    most: int = 0

    def add(self, ours: np.ndarray, theirs: np.ndarray) -> None:
        """Count the codes of one tensor."""
        apart = steps_apart(ours, theirs)
        self.codes += apart.size
        self.differ += int(np.count_nonzero(apart))
        self.most = max(self.most, int(apart.max(initial=0)))


class Comparison:
    """Compares operators that output codes, one by one.

    Every operator gets the reference's inputs, so that a difference is counted where it arises.

    Members
    -------
    found : by kind of operator, and whether it is a product.
    products : by name of the node.
    """

    def __init__(self, lowered: Lowered) -> None:
        self.found: dict[tuple[str, bool], Difference] = {}
        self.products: dict[str, Difference] = {}
        self._lowered = lowered
        graph = lowered.graph
        host = {
            node.output[0]: np.dtype(graph.constants[node.input[2]].dtype)
            for node in lowered.proto.graph.node
            if node.op_type == "QuantizeLinear" and len(node.input) > 2
        }
        for node in lowered.proto.graph.node:
            if node.op_type == "DynamicQuantizeLinear":
                kinds = (np.uint8, np.float32, np.uint8)
                host |= dict(zip(node.output, map(np.dtype, kinds), strict=False))
        makers = {name: node for node in lowered.proto.graph.node for name in node.output}
        self._makers = {
            name: makers[node.input[0]].op_type if node.input[0] in makers else "inputs"
            for node in lowered.proto.graph.node
            if node.op_type in ("QuantizeLinear", "DynamicQuantizeLinear")
            for name in node.output
        }
        inside: Mapping[str, np.dtype[Any]] = {
            product.y: product.y_type for product in lowered.products if product.y_type.kind != "f"
        }
        self.oracle = Oracle(graph, {**inside, **host})

    def run(self, inputs: dict[str, np.ndarray], multiply: Multiply) -> dict[str, np.ndarray]:
        """Compare a run on these inputs; return the reference's outputs."""
        reference = self.oracle.run(inputs)

        def count(kind: str, product: bool, name: str, codes: np.ndarray) -> np.ndarray:
            if name not in reference:
                return codes
            if codes.dtype == np.float32:  # a scale, of a tensor's own codes
                return reference[name]
            self.found.setdefault((kind, product), Difference()).add(codes, reference[name])
            return reference[name]

        def multiplied(product: Operands, a: np.ndarray, b: np.ndarray | None) -> np.ndarray:
            y = multiply(product, a, b)
            if y.dtype.kind == "f":
                return y
            if product.y in reference:
                own = self.products.setdefault(product.name, Difference())
                own.add(y, reference[product.y])
            return count(product.operator, True, product.y, y)

        def observed(name: str, codes: np.ndarray) -> np.ndarray:
            return count(self._makers.get(name, "?"), False, name, codes)

        evaluate(self._lowered, inputs, multiplied, observed)
        return {name: reference[name] for name in self._lowered.graph.outputs}

    def causes(self) -> list[dict[str, Any]]:
        """List the operators whose codes differ, with how much and why."""
        return [
            {"operator": kind, "codes": one.codes, "differ": one.differ, "most": one.most,
             "why": _CAUSES[product]}
            for (kind, product), one in sorted(self.found.items())
            if one.differ
        ]  # fmt: skip
