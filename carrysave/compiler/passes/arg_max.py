"""Places of the greatest code of a row: comparisons of maps, and kernels of one weight.

With the greatest code m of a row, all codes less m - 1, held at 0 from below, are 1 where they are
m, and 0 elsewhere. Times weights that fall from place to place, the greatest of these says which is
the first; weights that rise say which is the last. A row that is longer than weights go is divided
into parts: first the part is found, then the place in it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from onnx import NodeProto, TensorProto, helper

from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.graph.kernels import Unsupported, attributes
from carrysave.compiler.graph.names import key
from carrysave.compiler.lowered.lowered import Lowered
from carrysave.compiler.passes.convolutions import (
    Constants,
    channels_second,
    moved,
    with_convolutions,
)
from carrysave.compiler.passes.quantised_tensor import codes_of_one_scale
from carrysave.compiler.passes.setting import Setting

__all__ = ["arg_max"]

_BYTES = np.int8, np.uint8
_MOST = 127
"""The greatest weight."""
_RANKS = range(2, 5)
_LEAST, _GREATEST = 1e-30, 1e30
"""Ends of scales by which other codes are other floats."""


@dataclass(frozen=True, kw_only=True)
class _Row:
    """An ArgMax.

    Members
    -------
    node : of the model.
    codes, kind : whose places it finds; their type.
    rank, axis, size : of these; the axis along which they are compared, and how many there are.
    last : the last of equal codes is meant, not the first.
    """

    node: NodeProto
    codes: str
    kind: np.dtype
    rank: int
    axis: int
    size: int
    last: bool


def arg_max(lowered: Lowered, setting: Setting) -> Lowered:
    """Return a model with jobs in place of each ArgMax of codes, where the block has these."""
    if not setting.target.spec.taps or setting.target.spec.vector is None:
        return lowered
    graph = lowered.now
    every: dict[str, _Row] = {}
    for node in graph.nodes:
        plain = not node.domain and node.op_type == "ArgMax" and key(node) not in setting.without
        one = _row(graph, node) if plain else None
        if one is not None:
            every[node.output[0]] = one
    return with_convolutions(lowered, every, _nodes, setting.target)


def _row(graph: Graph, node: NodeProto) -> _Row | None:
    """Return what a node does; None: that is not of bytes, or sizes are not known."""
    shape, values = graph.shapes.get(node.input[0]), attributes(node)
    try:
        codes = codes_of_one_scale(graph, node.input[0])
    except Unsupported:
        return None
    if shape is None or len(shape) not in _RANKS or codes is None:
        return None
    axis = values.get("axis", 0) % len(shape)
    size = shape[axis] or 0
    if codes.zero.dtype not in _BYTES or not _LEAST <= codes.step[0] <= _GREATEST:
        return None
    if not axis or not 2 <= size <= _MOST * _MOST:
        return None
    return _Row(
        node=node,
        codes=codes.name,
        kind=codes.zero.dtype,
        rank=len(shape),
        axis=axis,
        size=size,
        last=bool(values.get("select_last_index")),
    )


class _Writer:
    """Writes the nodes of one.

    Parameters
    ----------
    graph : the model.
    one : what is written.
    constants : where those of its nodes go.
    """

    def __init__(self, graph: Graph, one: _Row, constants: Constants) -> None:
        self._graph, self._one, self._constants = graph, one, constants
        self.nodes: list[NodeProto] = []
        self._count = 0

    def add(self, operator: str, inputs: list[str], name: str = "", **more: Any) -> str:
        """Add a node; return what it makes."""
        name = name or self._fresh()
        self.nodes.append(helper.make_node(operator, inputs, [name], name, **more))
        return name

    def constant(self, values: object, kind: "np.dtype | type") -> str:
        """Add a constant; return its name."""
        name = self._fresh()
        self._constants[name] = np.array(values, kind)
        return name

    def moved(self, x: str, operator: str, numbers: list[int]) -> str:
        """Move channels to another axis."""
        y = self._fresh()
        self.nodes.append(moved(operator, numbers, x, y, self._constants))
        return y

    def numbers(self, codes: str, kind: "np.dtype | type", zero: int = 0) -> str:
        """Take codes as numbers, less a zero point."""
        steps = [self.constant(1, np.float32), self.constant(zero, kind)]
        return self.add("DequantizeLinear", [codes, *steps])

    def rounded(self, what: str, floats: str, kind: "np.dtype | type", zero: int = 0) -> str:
        """Make codes of numbers that are whole; say what they are."""
        steps = [self.constant(1, np.float32), self.constant(zero, kind)]
        return self.add("QuantizeLinear", [floats, *steps], self._fresh(what))

    def kernel(self, what: str, x: str, weights: np.ndarray, group: int, name: str = "") -> str:
        """Multiply channels by weights of a kernel of one place; say what that makes."""
        ones = (1,) * max(1, self._one.rank - 2)
        codes = self.constant(weights.reshape(len(weights), -1, *ones), np.int8)
        inputs, y = [x, self.numbers(codes, np.int8)], self._fresh(what)
        self.nodes.append(helper.make_node("Conv", inputs, [y], name or y, group=group))
        return y

    def greatest(self, codes: str, kind: "np.dtype | type") -> str:
        """Return the greatest codes along the channels: of two halves, again and again.

        Halves of an odd count have one in common.
        """
        size = self._one.size
        while size > 1:
            half = (size + 1) // 2
            both = []
            for start in (0, size - half):
                ends = [self.constant([at], np.int64) for at in (start, start + half, 1)]
                both.append(self.numbers(self.add("Slice", [codes, *ends]), kind))
            codes, size = self.rounded("greatest", self.add("Max", both), kind), half
        return codes

    def equal(self, codes: str, kind: "np.dtype | type", name: str = "") -> str:
        """Return codes that are 1 where others are the greatest of their row, else 0."""
        size = self._one.size
        most = self.numbers(self.greatest(codes, kind), kind)
        rows = self.rounded("row", self.kernel("rows", most, np.ones(size), 1, name), kind)
        apart = self.add("Sub", [self.numbers(codes, kind), self.numbers(rows, kind)])
        return self.rounded("equal", apart, np.uint8, 1)

    def _fresh(self, what: str = "") -> str:
        self._count += 1
        return self._graph.fresh(f"{self._one.node.output[0]}/{what}{self._count}")


def _nodes(graph: Graph, one: _Row, constants: Constants) -> Iterator[NodeProto]:
    """Yield the nodes of one in its new form; add their constants."""
    to, move = _Writer(graph, one, constants), channels_second(one.rank, one.axis)
    codes = to.moved(one.codes, move[0], move[1]) if move else one.codes
    place = _place(to, one, to.equal(codes, one.kind, key(one.node)))
    place = to.moved(place, move[0], move[2]) if move else place
    if not attributes(one.node).get("keepdims", 1):
        place = to.add("Squeeze", [place, to.constant([one.axis], np.int64)])
    to.add("Cast", [place], one.node.output[0], to=TensorProto.INT64)
    yield from to.nodes


def _place(to: _Writer, one: _Row, equal: str) -> str:
    """Find the place of the first 1, or of the last one; return it as a float."""
    places = np.arange(one.size)
    # Parts of a row, and places in a part; a row that is short is one.
    parts = [places] if one.size <= _MOST else [places // _MOST, places % _MOST]
    marked, digits = "", list[str]()
    for part in parts:
        if marked:
            equal = to.equal(marked, np.uint8)
        high = int(part.max())
        weights = part + 1 if one.last else high + 1 - part
        sums = to.kernel("weighted", to.numbers(equal, np.uint8), weights, one.size)
        marked = to.rounded("weight", sums, np.uint8)
        most = to.greatest(marked, np.uint8)
        if not one.last:
            below = to.add("Neg", [to.numbers(most, np.uint8)])
            most = to.rounded("place", below, np.uint8, high + 1)
        digits.append(to.numbers(most, np.uint8, int(one.last)))
    if len(digits) == 1:
        return digits[0]
    return to.add("Add", [to.add("Mul", [digits[0], to.constant(_MOST, np.float32)]), digits[1]])
