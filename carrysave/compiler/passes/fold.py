"""What constants of a model compute is a constant, before products are matched.

Codes stay codes: what moves dequantised codes moves the codes and their scales in place of floats,
and what limits them does so where the results are floats of codes, bit for bit.
"""

from typing import Any

import numpy as np
from onnx import NodeProto, numpy_helper

from carrysave.compiler.graph.graph import Graph, with_nodes
from carrysave.compiler.graph.host_operators import DRAWS
from carrysave.compiler.graph.host_runtime import alone
from carrysave.compiler.graph.host_versions import refusal
from carrysave.compiler.graph.kernels import attributes
from carrysave.compiler.graph.memory import limited
from carrysave.compiler.graph.node_sizes import check_outputs
from carrysave.compiler.graph.subgraphs import has_graphs
from carrysave.compiler.passes.constant_codes import ConstantCodes, along_one, limited_codes, turned

__all__ = ["fold"]

_MOVES = frozenset((
    "Expand", "Flatten", "Gather", "Identity", "Reshape", "Slice", "Squeeze", "Tile", "Transpose",
    "Unsqueeze",
))  # fmt: skip
_LIMITS = frozenset(("Clip", "Max", "Min", "Relu"))


class _OpenError(Exception):
    """Codes that do not fit their scales: that is said where they are used."""


def fold(graph: Graph) -> Graph:
    """Return a model without the nodes that constants alone go into; itself, if it has none."""
    return _Folder(graph).folded()


class _Folder:
    """Goes through a model once."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._known: dict[str, np.ndarray] = dict(graph.constants)
        self._codes: dict[str, ConstantCodes] = {}
        self._made: list[str] = []
        """Names of tensors that nodes made of constants."""
        self._opsets = {one.domain: one.version for one in graph.proto.opset_import}
        self._taken: set[str] = set()

    def folded(self) -> Graph:
        nodes: list[NodeProto] = []
        with limited("to compute the model's constants"):
            for node in self._graph.nodes:
                if not self._folds(node):
                    nodes.append(node)
                    continue
                made = self._run(node)
                nodes += [node] if made is None else made
        if not self._made:
            return self._graph
        more = [numpy_helper.from_array(np.asarray(self._known[name]), name) for name in self._made]
        return Graph(with_nodes(self._graph.proto, nodes, self._graph.outputs, more))

    def _folds(self, node: NodeProto) -> bool:
        """Return whether constants alone go into a node, and the host can run it."""
        names = [one for one in node.input if one]
        plain = node.op_type == "Constant" and node.output[0] in self._known
        return (
            not node.domain
            and not plain
            and all(name in self._known or name in self._codes for name in names)
            and not set(node.output) & set(self._graph.outputs)
            and node.op_type not in DRAWS
            and not has_graphs(node)
            and not refusal(node, self._opsets[""])
        )

    def _run(self, node: NodeProto) -> list[NodeProto] | None:
        """Compute a node; return what takes its place, or None: itself."""
        name = node.output[0]
        if node.op_type == "DequantizeLinear":
            # Products want its codes: it is computed when another node of constants takes it.
            self._codes[name] = self._dequantised(node)
            return None
        try:
            given = [self._value(one) for one in node.input]
        except _OpenError:
            return None
        results = self._computed(node, given)
        if results is None or not all(isinstance(one, np.ndarray) for one in results):
            return None
        before = self._codes.get(node.input[0]) if node.input else None
        if before is not None and node.op_type in _MOVES | _LIMITS and len(results) == 1:
            encoded = self._encoded(node, before, results[0])
            if encoded is not None:
                self._codes[name] = encoded
                return [self._dequantiser(name, encoded)]
            if before.block:
                return None
        names = [one for one in node.output if one]
        self._known |= dict(zip(names, results, strict=True))
        self._made += names
        return []

    def _dequantised(self, node: NodeProto) -> ConstantCodes:
        codes, scale, zero = [*map(self._value, node.input), None][:3]
        values = attributes(node)
        axis, block = values.get("axis", 1), values.get("block_size", 0)
        assert codes is not None
        assert scale is not None
        return ConstantCodes(codes, scale, zero, axis, block, node)

    def _value(self, name: str) -> np.ndarray | None:
        """Return a constant; None: it is left out."""
        if not name:
            return None
        if name in self._known:
            return self._known[name]
        floats = self._floats(self._codes[name])
        if floats is None:
            raise _OpenError
        return floats

    def _floats(self, codes: ConstantCodes) -> np.ndarray | None:
        """Dequantise codes; None: they do not fit their scales."""
        names = ["codes", "scale", "zero"][: len(codes.given)]
        made = self._computed(codes.dequantiser(names, "floats"), codes.given)
        return None if made is None else made[0]

    def _computed(self, node: NodeProto, given: list[Any]) -> list[Any] | None:
        """Run a node on the host; None: it cannot, and that is said when the model runs."""
        try:
            check_outputs(node, given, self._opsets)
            results = alone(node, given, self._opsets)
        except ValueError:
            return None
        return (
            [one for one in results if one is not None] if len(node.output) == 1 else list(results)
        )

    def _encoded(
        self, node: NodeProto, before: ConstantCodes, floats: np.ndarray
    ) -> ConstantCodes | None:
        """Return the codes of what a node made of dequantised codes; None: it has none."""
        others = [self._value(one) for one in node.input[1:]]
        if node.op_type in _LIMITS:
            encoded = limited_codes(before, floats)
        elif before.block:
            encoded = turned(node, before)
        else:
            parts = [before.codes, before.grid(before.scale)]
            parts += [] if before.zero is None else [before.grid(before.zero)]
            moved = [self._computed(node, [one, *others]) for one in parts]
            encoded = along_one([one[0] for one in moved if one is not None], len(parts))
        if encoded is None:
            return None
        again = self._floats(encoded)
        same = again is not None and np.array_equal(again, floats, equal_nan=True)
        return encoded if same else None

    def _dequantiser(self, name: str, codes: ConstantCodes) -> NodeProto:
        """Make a node for codes, under names that no tensor has."""
        inputs = []
        for what, value in (("codes", codes.codes), ("scale", codes.scale), ("zero", codes.zero)):
            if value is None:
                continue
            fresh = self._graph.fresh(f"{name}/{what}")
            while fresh in self._taken:
                fresh += "'"
            self._taken.add(fresh)
            self._known[fresh] = value
            self._made.append(fresh)
            inputs.append(fresh)
        return codes.dequantiser(inputs, name)
