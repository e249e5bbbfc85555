"""Which floats of a model are made of codes, element by element."""

from typing import Any

import numpy as np
import onnx
from onnx import NodeProto, helper

from carrysave.compiler.graph.code_types import limits
from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.passes.code_region import Region

__all__ = ["CodePaths", "OpenPathError"]

_ELEMENTWISE = frozenset((
    "Abs", "Add", "And", "Cast", "Ceil", "Celu", "Clip", "Div", "Elu", "Equal", "Erf", "Exp",
    "Floor", "Gelu", "Greater", "GreaterOrEqual", "HardSigmoid", "HardSwish", "Identity",
    "LeakyRelu", "Less", "LessOrEqual", "Log", "Max", "Min", "Mish", "Mul", "Neg", "Not", "Or",
    "PRelu", "Pow", "Reciprocal", "Relu", "Round", "Selu", "Sigmoid", "Sign", "Softplus",
    "Softsign", "Sqrt", "Sub", "Swish", "Tanh", "ThresholdedRelu", "Where", "Xor",
))  # fmt: skip
"""Operators whose results depend on one element of each input."""
_MOVES = frozenset((
    "DepthToSpace", "Expand", "Flatten", "Gather", "Identity", "Reshape", "Slice", "SpaceToDepth",
    "Squeeze", "Tile", "Transpose", "Unsqueeze",
))  # fmt: skip
"""Those that move elements of their first input."""
_GREATEST = ("GlobalMaxPool", "MaxPool")
_CODES = (np.uint8, np.int8)
"""Types of codes that pools take."""
_LEAVES = 4
"""Most leaves of a region, before others take their place."""


class OpenPathError(Exception):
    """A tensor depends on more than codes, element by element."""


class CodePaths:
    """Follows floats of a graph back to codes.

    Parameters
    ----------
    graph : the model.
    types : of tensors, where known.

    Members
    -------
    after : nodes that move codes, to be put behind the node that moves floats, by its place.
    kinds : types of tensors.
    """

    def __init__(self, graph: Graph, types: "dict[str, np.dtype[Any]]") -> None:
        self.after: dict[int, list[NodeProto]] = {}
        self.kinds = dict(types)
        self._graph = graph
        self._at = {id(node): number for number, node in enumerate(graph.nodes)}
        self._moved: dict[str, tuple[str, NodeProto]] = {}
        """Codes, and what dequantises them, by the float tensor."""
        self._names: set[str] = set()

    def fresh(self, name: str) -> str:
        """Return a name that no tensor has, and that was not returned before."""
        unused = self._graph.fresh(name)
        while unused in self._names:
            unused = self._graph.fresh(f"{unused}'")
        self._names.add(unused)
        return unused

    def region(self, node: NodeProto, number: int) -> Region:
        """Follow a quantiser back to codes."""
        leaves: dict[str, np.dtype[Any]] = {}
        nodes = {number: node}
        constants = set(filter(None, node.input[1:]))
        self._follow(node.input[0], leaves, nodes, constants)
        return Region(leaves, nodes, frozenset(constants))

    def kind(self, codes: str) -> "np.dtype[Any]":
        """Return the type of codes."""
        known = self._graph.constants.get(codes)
        kind = self.kinds.get(codes) if known is None else known.dtype
        if kind is None or limits(kind) is None:
            raise OpenPathError
        return kind

    def plain(self, node: NodeProto) -> bool:
        """Return whether a step and a zero point are constants, one for all codes."""
        constants = self._graph.constants
        blocks = any(one.name == "block_size" and one.i for one in node.attribute)
        known = [constants.get(name) for name in node.input[1:] if name]
        if blocks or not known or any(one is None or one.size != 1 for one in known):
            return False
        step = constants[node.input[1]]
        positive = bool(np.isfinite(step).all() and (step > 0).all())
        return positive and limits(self.step(node)) is not None

    def step(self, node: NodeProto) -> "np.dtype[Any]":
        """Return the type of the zero point of a quantiser, or of what dequantises."""
        zero = self._graph.constants.get(node.input[2]) if len(node.input) > 2 else None
        if zero is not None:
            return zero.dtype
        kinds = (one.i for one in node.attribute if one.name == "output_dtype" and one.i)
        return np.dtype(helper.tensor_dtype_to_np_dtype(next(kinds, onnx.TensorProto.UINT8)))

    def moves(self, node: NodeProto, kind: "np.dtype[Any]") -> bool:
        """Return whether an operator does the same to codes of a type as to what they stand for."""
        if node.domain or len([one for one in node.output if one]) != 1:
            return False
        if node.op_type in _MOVES:
            return True
        other = any(one.name in ("ceil_mode", "storage_order") and one.i for one in node.attribute)
        return node.op_type in _GREATEST and kind.type in _CODES and not other

    def _follow(
        self,
        name: str,
        leaves: dict[str, "np.dtype[Any]"],
        nodes: dict[int, NodeProto],
        constants: set[str],
    ) -> None:
        """Add what a float tensor depends on."""
        if name in self._graph.constants:
            if self._graph.constants[name].size != 1:
                raise OpenPathError
            constants.add(name)
            return
        maker = self._graph.makers.get(name)
        if maker is None or maker.domain:
            raise OpenPathError
        number = self._at[id(maker)]
        if number in nodes:
            return
        if maker.op_type in ("DequantizeLinear", *_MOVES, *_GREATEST):
            codes, dequantiser = self._dequantised(name)
            nodes[number] = dequantiser
            constants.update(filter(None, dequantiser.input[1:]))
            if codes in self._graph.constants:
                constants.add(codes)
            else:
                leaves[codes] = self.kind(codes)
            if len(leaves) > _LEAVES:
                raise OpenPathError
            return
        if maker.op_type not in _ELEMENTWISE or len(maker.output) != 1:
            raise OpenPathError
        nodes[number] = maker
        for one in filter(None, maker.input):
            self._follow(one, leaves, nodes, constants)

    def _dequantised(self, name: str) -> tuple[str, NodeProto]:
        """Return the codes of a float tensor, and the node that makes it of them."""
        if name in self._moved:
            return self._moved[name]
        maker = self._graph.makers.get(name)
        if maker is None or maker.domain:
            raise OpenPathError
        if maker.op_type == "DequantizeLinear":
            codes = maker.input[0]
            known = self._graph.constants.get(codes)
            if not self.plain(maker) or (known is not None and known.size != 1):
                raise OpenPathError
            if len(maker.input) > 2 and maker.input[2]:
                self.kinds[codes] = self._graph.constants[maker.input[2]].dtype
            self.kind(codes)
            pair = codes, maker
        else:
            pair = self._through(maker)
        self._moved[name] = pair
        return pair

    def _through(self, node: NodeProto) -> tuple[str, NodeProto]:
        """Let a node move codes in place of what they stand for."""
        codes, before = self._dequantised(node.input[0])
        if not self.moves(node, self.kind(codes)):
            raise OpenPathError
        moved, made = NodeProto(), NodeProto()
        moved.CopyFrom(node)
        made.CopyFrom(before)
        name = self.fresh(f"{node.output[0]}/codes")
        moved.input[0], moved.output[0] = codes, name
        made.input[0], made.output[0], made.name = name, node.output[0], f"{name}/dequantise"
        self.kinds[name] = self.kind(codes)
        self.after.setdefault(self._at[id(node)], []).append(moved)
        return name, made
