"""Finds the products of recurrent layers."""

from collections.abc import Sequence

import numpy as np
from onnx import NodeProto

from carrysave.compiler.graph.code_types import limits, narrowest
from carrysave.compiler.graph.graph import DOMAIN, MICROSOFT, Graph
from carrysave.compiler.graph.kernels import Unsupported, attributes
from carrysave.compiler.graph.names import key
from carrysave.compiler.lowered.quantised import QuantisedProduct
from carrysave.compiler.lowered.recurrent import GRU, KIND, Direction, Gru, Recurrent
from carrysave.compiler.passes.quantised_tensor import constant

__all__ = ["match_recurrent"]

_ACTIVATIONS = {KIND: [b"sigmoid", b"tanh", b"tanh"], GRU: [b"sigmoid", b"tanh"]}
_GATES = {KIND: 4, GRU: 3}


def match_recurrent(graph: Graph, node: NodeProto) -> Recurrent | None:
    """Return the recurrent layer of a node; None if it is not one.

    Raises
    ------
    Unsupported
        One that cannot be compiled.
    """
    if (node.domain, node.op_type) not in ((MICROSOFT, KIND), (DOMAIN, GRU)):
        return None
    values = attributes(node)
    given = [*node.input, *[""] * 12][:12]
    way = values.get("direction", b"forward")
    ways = {b"forward": (False,), b"reverse": (True,), b"bidirectional": (False, True)}.get(way)
    if ways is None:
        raise Unsupported(f"direction must be forward, reverse or bidirectional, not {way!r}")
    count, hidden = len(ways), values.get("hidden_size", 0)
    _check_activations(node, values.get("activations"), count)
    gates = _GATES[node.op_type]
    weights, scales = _weights(graph, given, count, gates * hidden)
    if len(weights[1][0]) != hidden:
        raise Unsupported(f"R must have K of {hidden}, not {len(weights[1][0])}")
    bias, inner = _biases(graph, given[3], (count, hidden), node)
    if node.op_type == GRU and inner is None:
        weights = [weights[0], *_parted(weights[1], 2 * hidden)]
        scales = [scales[0], *_parted(scales[1], 2 * hidden)]
    peepholes = _numbers(graph, given[7], "P", (count, 3, hidden))
    name = key(node)
    ends = ("input", "recurrence", "reset recurrence")[: len(weights)]
    marks = ("",) if count == 1 else (" forward", " backward")
    base = [
        [
            QuantisedProduct(
                name=f"{name} {end}{mark}", operator=node.op_type, a=node.input[0], b="",
                y=graph.fresh(f"{name}/{end}{mark}"), weights=each[number], a_zero=0,
                a_type=np.dtype(np.uint8), a_late="range",
            )
            for end, each in zip(ends, weights, strict=True)
        ]
        for number, mark in enumerate(marks)
    ]  # fmt: skip
    directions = tuple(
        Direction(
            products=tuple(some),
            scales=tuple(one[number] for one in scales),
            bias=bias[number],
            peepholes=peepholes[number],
            backward=ways[number],
            inner=None if inner is None else inner[number],
        )
        for number, some in enumerate(base)
    )
    clip = values.get("clip")
    return (Gru if node.op_type == GRU else Recurrent)(
        node=node,
        directions=directions,
        clip=clip or None,
        coupled=bool(values.get("input_forget", 0)),
    )


def _check_activations(node: NodeProto, given: list[bytes] | None, count: int) -> None:
    legal = _ACTIVATIONS[node.op_type] * count
    used = legal if given is None else [one.lower() for one in given]
    if used != legal:
        names = ", ".join(one.decode(errors="replace") for one in used)
        wanted = ", ".join(one.decode().capitalize() for one in _ACTIVATIONS[node.op_type])
        raise Unsupported(f"activations must be {wanted}, not {names}")


def _biases(
    graph: Graph, name: str, size: tuple[int, int], node: NodeProto
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the bias of each direction, and what a GRU adds within its reset, if that is apart."""
    count, hidden = size
    both = _numbers(graph, name, "B", (count, 2, _GATES[node.op_type] * hidden))
    bias = both.sum(axis=1)
    resets = next((one.i for one in node.attribute if one.name == "linear_before_reset"), 0)
    if node.op_type != GRU or not resets:
        return bias, None
    bias[:, 2 * hidden :] = both[:, 0, 2 * hidden :]
    return bias, both[:, 1, 2 * hidden :]


def _parted(arrays: Sequence[np.ndarray], at: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return the columns up to one, and the others; of one column, that twice."""
    return (
        [one if one.shape[-1] == 1 else one[..., :at] for one in arrays],
        [one if one.shape[-1] == 1 else one[..., at:] for one in arrays],
    )


def _weights(
    graph: Graph, given: Sequence[str], count: int, columns: int
) -> tuple[list[list[np.ndarray]], list[Sequence[np.ndarray]]]:
    """Return the weights of inputs and of recurrence for each direction, and their scales."""
    weights: list[list[np.ndarray]] = []
    scales: list[Sequence[np.ndarray]] = []
    for at, name in ((1, "W"), (2, "R")):
        codes = constant(graph, given[at], name)
        step, zero = (
            constant(graph, given[2 * at + 6 + more], f"{name}'s {what}")
            for more, what in ((0, "scale"), (1, "zero point"))
        )
        if codes.ndim != 3 or codes.shape[0] != count or codes.shape[2] != columns:
            raise Unsupported(f"{name} must be {count} x K x {columns}, not {codes.shape}")
        if limits(codes.dtype) is None or zero.dtype != codes.dtype:
            raise Unsupported(f"{name} must be of integers, not {codes.dtype}")
        for what, array in (("scale", step), ("zero point", zero)):
            if array.size not in (count, columns * count):
                text = f"{count} or {columns * count} values, not {array.size}"
                raise Unsupported(f"{name}'s {what} must have {text}")
        if not (np.isfinite(step) & (step > 0)).all():
            raise Unsupported(f"{name}'s scales must be finite and greater than 0")
        less = codes.astype(np.int64) - zero.astype(np.int64).reshape(count, 1, -1)
        weights.append([narrowest(one) for one in less])
        scales.append([*step.astype(np.float32).reshape(count, -1)])
    return weights, scales


def _numbers(graph: Graph, name: str, what: str, shape: Sequence[int]) -> np.ndarray:
    """Read floats of a shape; zeros if there are none."""
    if not name:
        return np.zeros(shape, np.float32)
    numbers = constant(graph, name, what)
    if numbers.size != int(np.prod(shape)) or numbers.dtype != np.float32:
        raise Unsupported(f"{what} must be {shape} floats, not {numbers.shape} of {numbers.dtype}")
    return numbers.reshape(shape)
