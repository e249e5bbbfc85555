"""ONNX's operators with a state, whose inputs are codes.

CausalConvWithState becomes a Conv of groups of one channel, with padding or behind its past state,
if that is of codes with the same scale and zero point. What another past state gives to the first
results is a Conv of its own, added by the host. Its activation is that of floats. Others stay as
they are, on the host. LinearAttention takes codes as they are moved, where the model moves
their floats: :mod:`.match_state` has its products.
"""

import numpy as np
from onnx import NodeProto, TensorProto

from carrysave.compiler.graph.graph import Graph, with_nodes
from carrysave.compiler.graph.kernels import attributes
from carrysave.compiler.passes.made import Made, MovedCodes, moved_codes, with_moved_codes
from carrysave.compiler.passes.quantised_tensor import dequantised

__all__ = ["states"]

_ACTIVATIONS = {b"none": False, b"silu": True, b"swish": True}
"""Whether results are multiplied by their sigmoid."""
_INPUTS = 4
_TO_THE_END = np.iinfo(np.int64).max


def states(graph: Graph) -> Graph:
    """Replace these operators; others stay. Without any, returns the model itself."""
    nodes: list[NodeProto] = []
    constants: list[TensorProto] = []
    changed = False
    for node in graph.nodes:
        expand = None if node.domain else _OPERATORS.get(node.op_type)
        made = None if expand is None else expand(graph, node)
        changed = changed or made is not None
        nodes += [node] if made is None else made.nodes
        constants += [] if made is None else made.constants
    return Graph(with_nodes(graph.proto, nodes, graph.outputs, constants)) if changed else graph


def _attention(graph: Graph, node: NodeProto) -> Made | None:
    """Return linear attention of moved codes; None: it is none, or nothing is moved."""
    codes = [moved_codes(graph, name) for name in node.input[:3]]
    if not any(one is not None and one.moves for one in codes):
        return None
    return with_moved_codes(graph, node, codes)


def _convolution(graph: Graph, node: NodeProto) -> Made | None:
    """Return a convolution; None: it stays."""
    x, weights, bias, past = [*node.input, *[""] * _INPUTS][:_INPUTS]
    codes, its_weights = moved_codes(graph, x), dequantised(graph, weights)
    before = moved_codes(graph, past) if past else None
    gate = _ACTIVATIONS.get(attributes(node).get("activation", b"none"))
    if codes is None or its_weights is None or its_weights.values is None or gate is None:
        return None
    if its_weights.values.ndim != 3:
        return None
    channels, _, taps = its_weights.values.shape
    apart = bool(past) and not _alike(codes, before)
    length = graph.shapes.get(x, [None])[-1]
    if apart and (taps < 2 or not length):
        return None
    behind = node.output[1]
    used = behind in graph.outputs or behind in graph.readers
    if used and taps < 2:  # a state without numbers
        return None
    made = Made(graph=graph, node=node)
    source, pad = made.codes(codes, "input"), taps - 1
    if before is not None and not apart:
        state = made.codes(before, "past")
        source, pad = made.add("Concat", [state, source], "both", axis=2), 0
    source = made.floats(source, codes, "input")
    inputs = [source, weights, *([bias] if bias else [])]
    how = {"group": channels, "kernel_shape": [taps], "pads": [pad, 0]}
    y = made.add("Conv", inputs, "convolution", **how)
    if apart and length:
        how["pads"] = [0, taps - 1]
        more = made.add("Conv", [past, weights], "of past", **how)
        y = made.add("Add", [y, _long(made, more, taps - 1, length)], "both")
    if gate:
        part = made.add("Sigmoid", [y], "gate")
        made.add("Mul", [y, part], "gated")
    made.nodes[-1].output[0] = node.output[0]
    if used:
        if apart:
            source, pad = made.add("Concat", [past, source], "past and input", axis=2), 0
        _state(made, source, pad, taps - 1)
        made.nodes[-1].output[0] = behind
    return made


def _long(made: Made, name: str, size: int, length: int) -> str:
    """Cut so many numbers, or add zeros behind them, to make them another number."""
    if size < length:
        ends = made.constant(np.array([0, 0, 0, 0, 0, length - size], np.int64), "past/pads")
        return made.add("Pad", [name, ends], "past/padded")
    return name if size == length else _part(made, name, 0, length, "past")


def _part(made: Made, name: str, start: int, end: int, what: str) -> str:
    """Take a part along the last axis."""
    ends = (("start", start), ("end", end), ("axis", 2))
    places = [made.constant(np.array([at], np.int64), f"{what}/{part}") for part, at in ends]
    return made.add("Slice", [name, *places], what)


def _alike(codes: MovedCodes, past: MovedCodes | None) -> bool:
    """Return whether a past state has codes of the same scale and zero point, and type."""
    if past is None or past.tensor.zero.dtype != codes.tensor.zero.dtype:
        return False
    same = (past.tensor.step == codes.tensor.step).all()
    return bool(same and past.tensor.number == codes.tensor.number)


def _state(made: Made, source: str, pad: int, size: int) -> None:
    """Add the nodes that make the state behind: the last numbers, with zeros before the first."""
    if pad:
        ends = made.constant(np.array([0, 0, pad, 0, 0, 0], np.int64), "state/pads")
        source = made.add("Pad", [source, ends], "state/padded")
    _part(made, source, -size, _TO_THE_END, "state")


_OPERATORS = {"CausalConvWithState": _convolution, "LinearAttention": _attention}
