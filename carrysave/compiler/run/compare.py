"""Comparison with onnxruntime: operator by operator, each fed onnxruntime's codes.

Where its kernel saturates, the judge of a product is its exact value, and that of outputs is the
network with exact products.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from onnx import NodeProto

from carrysave.compiler.graph.code_types import steps_apart
from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.graph.reference_runtime import Oracle
from carrysave.compiler.lowered.evaluate import Multiply, evaluate, of_model
from carrysave.compiler.lowered.layer import Layer
from carrysave.compiler.lowered.lowered import Lowered
from carrysave.compiler.lowered.operands import Operands
from carrysave.compiler.run.exact_product import INTEGERS, ONNXRUNTIME, exact, may_saturate

__all__ = ["Comparison", "Difference"]

_ON_HOST = "runs in floats on the host; onnxruntime has its own kernel for codes"
_ON_READING = (
    "is of floats in the model; its weights became int8 when it was read, and activations do step"
    " by step. Counted in units in the last place of the largest"
)


@dataclass
class Difference:
    """How codes of one operator differ.

    Members
    -------
    codes, differ : number of codes, and of differing ones.
    most : largest difference, in steps; of floats, in units in the last place of the largest.
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
    differences : by kind of operator, and whether it is a product.
    products : by name of the node.
    judges : of products, by name of the node: :data:`carrysave.compiler.run.exact_product.INTEGERS`
        where onnxruntime's codes of an input are not exact.
    judge : of the outputs.
    """

    def __init__(self, lowered: Lowered) -> None:
        self.differences: dict[tuple[str, bool], Difference] = {}
        self.products: dict[str, Difference] = {}
        self.judges: dict[str, str] = {}
        self.judge = ONNXRUNTIME
        self._lowered = lowered
        self._why = {product.operator: product.why for product in lowered.products}
        graph = lowered.graph
        host = {
            node.output[0]: kind
            for node in lowered.proto.graph.node
            if node.op_type == "QuantizeLinear" and (kind := _codes_of(graph, node)) is not None
        }
        for node in lowered.proto.graph.node:
            if node.op_type == "DynamicQuantizeLinear":
                types = (np.uint8, np.float32, np.uint8)
                host |= dict(zip(node.output, map(np.dtype, types), strict=False))
        self._layers: dict[str, tuple[str, Layer]] = {}
        for key, layer in lowered.recurrent.items():
            in_floats = lowered.quantised_on_reading.get(key)
            operator = in_floats or layer.node.op_type
            self._layers |= {name: (operator, layer) for name in layer.node.output if name}
            self._why[operator] = _ON_READING if in_floats else layer.why
        makers = {name: node for node in lowered.proto.graph.node for name in node.output}
        kinds = {name: of_model(lowered, node).op_type for name, node in makers.items()}
        kinds |= {product.y: product.operator for product in lowered.products}
        self._makers = {
            name: kinds.get(node.input[0], "inputs")
            for node in lowered.proto.graph.node
            if node.op_type in ("QuantizeLinear", "DynamicQuantizeLinear")
            for name in node.output
        }
        inside: Mapping[str, np.dtype[Any]] = {
            product.y: product.y_type for product in lowered.products if _counted(product)
        }
        floats = dict.fromkeys(self._layers, np.dtype(np.float32))
        self.oracle = Oracle(graph, {**inside, **host, **floats})

    def run(self, inputs: dict[str, np.ndarray], multiply: Multiply) -> dict[str, np.ndarray]:
        """Compare a run on these inputs; return the outputs of the judge."""
        reference = self.oracle.run(inputs)
        inexact: set[str] = set()

        def count(kind: str, product: bool, name: str, codes: np.ndarray) -> np.ndarray:
            if name not in reference:
                return codes
            if codes.dtype == np.float32 and not product:  # a scale, of a tensor's own codes
                return reference[name]
            self.differences.setdefault((kind, product), Difference()).add(codes, reference[name])
            return reference[name]

        def multiplied(product: Operands, a: np.ndarray, b: np.ndarray | None) -> np.ndarray:
            y = multiply(product, a, b)
            if not _counted(product):
                return y
            theirs = reference.get(product.y)
            judge = theirs
            if may_saturate(product, a, b):
                judge = exact(product, a, b)
                if judge is not None and (theirs is None or not np.array_equal(judge, theirs)):
                    inexact.add(product.name)
                    self.judges[product.name] = INTEGERS
            if judge is None:
                return y
            for one in (
                self.products.setdefault(product.name, Difference()),
                self.differences.setdefault((product.operator, True), Difference()),
            ):
                one.add(y, judge)
            # A layer that is one operator goes on with exact sums, others with onnxruntime's.
            return judge if theirs is None else theirs

        def observed(name: str, codes: np.ndarray) -> np.ndarray:
            if name not in self._layers:
                return count(self._makers.get(name, "?"), False, name, codes)
            kind, layer = self._layers[name]
            if inexact & {product.name for product in layer.products}:
                return reference.get(name, codes)  # its products have had their judge
            return count(kind, True, name, codes)

        evaluate(self._lowered, inputs, multiplied, observed)
        if not inexact:
            return {name: reference[name] for name in self._lowered.graph.outputs}

        def exactly(product: Operands, a: np.ndarray, b: np.ndarray | None) -> np.ndarray:
            result = exact(product, a, b)
            return multiply(product, a, b) if result is None else result

        self.judge = INTEGERS
        return evaluate(self._lowered, inputs, exactly)

    def causes(self) -> list[dict[str, Any]]:
        """List the operators whose codes differ, with how much and why."""
        return [
            {
                "operator": kind,
                "codes": one.codes,
                "differ": one.differ,
                "most": one.most,
                "why": self._why.get(kind, "") if product else _ON_HOST,
            }
            for (kind, product), one in sorted(self.differences.items())
            if one.differ
        ]


def _counted(product: Operands) -> bool:
    """Return whether results are onnxruntime's but for their rounding: formats are not its own."""
    return not product.formats


def _codes_of(graph: Graph, node: NodeProto) -> "np.dtype[Any] | None":
    """Return the type of a quantiser's codes, if it is known before it runs."""
    zero = graph.constants.get(node.input[2]) if len(node.input) > 2 else None
    return graph.types.get(node.output[0]) if zero is None else zero.dtype
