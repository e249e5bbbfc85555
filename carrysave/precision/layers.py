"""Products of a float network, and their operands."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from onnx import NodeProto

from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.graph.kernels import FLOAT_PRODUCTS, Unsupported, arranged
from carrysave.compiler.graph.names import key, label
from carrysave.compiler.graph.reference_runtime import Oracle
from carrysave.compiler.lowered.encoded import Choice, steps_of
from carrysave.compiler.passes.refusals import check_host
from carrysave.precision.batches import Batches
from golden.formats.element import ElementFormat

__all__ = ["Layer", "find", "step_of"]

_SAMPLE = 1 << 14
"""Number of a tensor's values used to choose its scale."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Layer:
    """A product of a float network.

    Members
    -------
    node : of the graph.
    a, b : its operands on the calibration inputs, batch by batch; no `b` if weights are
        constant.
    weights : K x N, or groups x K x N; None where B is computed.
    """

    node: NodeProto
    a: list[np.ndarray]
    b: list[np.ndarray]
    weights: np.ndarray | None

    @property
    def name(self) -> str:
        """The node's name."""
        return key(self.node)

    @property
    def depth(self) -> int:
        """K."""
        return self.a[0].shape[-1] if self.weights is None else self.weights.shape[-2]

    @property
    def y(self) -> str:
        """Its output tensor."""
        return self.node.output[0]

    def choice(self, formats: Mapping[str, ElementFormat], pair: tuple[str, str]) -> Choice:
        """Choose formats, with the scales nearest to the calibration's operands."""
        a, b = pair
        return Choice(
            a=a,
            b=b,
            a_step=step_of(formats[a], self.a),
            b_step=step_of(formats[b], self.b) if self.b else 1.0,
        )

    def weight_bits(self, bits: int) -> int:
        """Return the bits of all weights."""
        return 0 if self.weights is None else self.weights.size * bits

    def chosen_bits(self, choice: Choice, bits: Callable[[tuple[str, str]], int]) -> int:
        """Return the bits of all weights, of which each has those of its pair of formats."""
        if self.weights is None:
            return 0
        depth, wide = self.weights.shape[-2], len(choice.split.columns) if choice.split else 0
        rows = zip((depth - wide, wide), choice.pairs, strict=False)
        return sum(count * bits(pair) for count, pair in rows) * (self.weights.size // depth)


def find(graph: Graph, given: Batches) -> list[Layer]:
    """Find the products of a model, and their operands on some inputs.

    Raises
    ------
    ValueError
        A model that is quantised, has no float products, or that onnxruntime cannot run.
    """
    check_host(graph)
    quantised = sorted({
        node.op_type
        for node in graph.nodes
        if "Quant" in node.op_type or node.op_type.startswith("QLinear")
    })
    if quantised:
        raise ValueError(f"the model must be of floats; it has {', '.join(quantised)}")
    nodes = [node for node in graph.nodes if _is_product(graph, node)]
    if not nodes:
        raise ValueError(f"the model has no {', '.join(FLOAT_PRODUCTS)} of floats")
    wanted = {name for node in nodes for name in node.input[:2]} - set(graph.constants)
    kind: np.dtype[Any] = np.dtype(np.float32)
    oracle = Oracle(graph, dict.fromkeys(sorted(wanted), kind))
    parts = [made | part for part, made in given.followed(oracle.run)]
    layers = [
        Layer(
            node=node,
            a=[part[node.input[0]] for part in parts],
            b=[part[node.input[1]] for part in parts] if node.input[1] in wanted else [],
            weights=arranged(node, graph.constants.get(node.input[1]))[0],
        )
        for node in nodes
    ]
    for layer in layers:
        for tensor in (*layer.a, *layer.b):
            if not tensor.size or not np.isfinite(tensor).all():
                raise ValueError(
                    f"{label(layer.node)}: operands on the calibration inputs must be finite"
                    " numbers, one or more"
                )
    return layers


def _is_product(graph: Graph, node: NodeProto) -> bool:
    """Return whether a node is a float product with computed A and a supported layout."""
    if node.domain not in ("", "ai.onnx") or node.op_type not in FLOAT_PRODUCTS:
        return False
    a, b, bias = [*node.input, ""][:3]
    if a in graph.constants or (bias and bias not in graph.constants):
        return False
    if graph.types.get(a, np.dtype(np.float32)) != np.float32:
        return False
    try:
        arranged(node, graph.constants.get(b))
    except Unsupported:
        return False
    return True


def step_of(fmt: ElementFormat, parts: list[np.ndarray]) -> float:
    """Choose a scale for a tensor, by a sample of its values."""
    flat = np.concatenate([part.reshape(-1) for part in parts])
    part = flat[:: -(-flat.size // _SAMPLE)]
    greatest = flat[np.abs(flat).argmax()]
    return float(steps_of(fmt, np.append(part, greatest)[:, None])[0])
