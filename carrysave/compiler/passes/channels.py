"""What operators with constants do to each channel: a * x + b, and the kernels that do the same."""

from dataclasses import dataclass

import numpy as np
from onnx import NodeProto

from carrysave.compiler.graph.code_types import limits
from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.graph.kernels import attributes
from carrysave.compiler.passes.quantised_tensor import QuantisedTensor, dequantised

__all__ = ["Kernel", "Line", "kernel_of", "line_of"]

_BATCH = frozenset(("epsilon", "momentum", "training_mode"))
_WEIGHTS = np.arange(127, 0, -1)
_BIAS = 1 << 22
"""A bias is less: engines with few bits of sums have room for it."""
_NOUGHT = 1 << 16
"""A bias where a is 0."""
_NEAR = 1 / 128
"""Parts of a code by which results may be apart before they are rounded: biases are integers."""


@dataclass(frozen=True, kw_only=True)
class Line:
    """a * x + b, with an a and a b of each channel.

    Members
    -------
    axis : of channels; None: all are alike.
    a, b : rows of float64.
    """

    axis: int | None
    a: np.ndarray
    b: np.ndarray

    def then(self, after: "Line") -> "Line | None":
        """Return both, one after the other; None: their channels lie along two axes."""
        axes = {self.axis, after.axis} - {None}
        if len(axes) > 1:
            return None
        a, b = np.broadcast_arrays(after.a * self.a, after.a * self.b + after.b)
        return Line(axis=next(iter(axes), None), a=a, b=b)


@dataclass(frozen=True, kw_only=True)
class Kernel:
    """Codes of weights and biases, one of each channel.

    Members
    -------
    weights, scale : int8, and what one of them stands for, float32.
    bias : int32, in units of the products' scale.
    """

    weights: np.ndarray
    scale: np.ndarray
    bias: np.ndarray


def line_of(graph: Graph, node: NodeProto, name: str) -> Line | None:
    """Return what a node does to a tensor; None: it is no line, or has more operands."""
    shape = graph.shapes.get(name)
    if node.domain or shape is None:
        return None
    if node.op_type == "BatchNormalization":
        return _normalised(graph, node, name)
    if node.op_type not in ("Add", "Sub", "Mul", "Div"):
        return None
    first = node.input[0] == name
    values = _floats(graph, node.input[1 if first else 0])
    if values is None or values.ndim > len(shape) or not np.isfinite(values).all():
        return None
    sizes = (1,) * (len(shape) - values.ndim) + values.shape
    axes = [axis for axis, size in enumerate(sizes) if size > 1]
    if len(axes) > 1 or any(shape[axis] != sizes[axis] for axis in axes):
        return None
    row = values.reshape(-1).astype(np.float64)
    one, none = np.ones_like(row), np.zeros_like(row)
    axis = axes[0] if axes else None
    if node.op_type == "Add":
        return Line(axis=axis, a=one, b=row)
    if node.op_type == "Sub":
        return Line(axis=axis, a=one, b=-row) if first else Line(axis=axis, a=-one, b=row)
    if node.op_type == "Mul":
        return Line(axis=axis, a=row, b=none)
    return Line(axis=axis, a=1 / row, b=none) if first and row.all() else None


def _normalised(graph: Graph, node: NodeProto, name: str) -> Line | None:
    values = attributes(node)
    known = [_floats(graph, one) for one in node.input[1:]]
    if node.input[0] != name or len([one for one in node.output if one]) != 1:
        return None
    if not values.keys() <= _BATCH or values.get("training_mode") or len(known) != 4:
        return None
    rows = [one.astype(np.float64) for one in known if one is not None]
    if len(rows) < len(known) or any(row.ndim != 1 or row.size != rows[0].size for row in rows):
        return None
    if graph.shapes[name][1:2] != [rows[0].size]:
        return None
    scale, bias, mean, variance = rows
    with np.errstate(all="ignore"):
        a = scale / np.sqrt(variance + values.get("epsilon", 1e-5))
        b = bias - mean * a
    return Line(axis=1, a=a, b=b) if np.isfinite([a, b]).all() else None


def _floats(graph: Graph, name: str) -> np.ndarray | None:
    """Return a constant of floats, or the floats of constant codes; None: it is neither."""
    known = graph.constants.get(name)
    if known is not None:
        return known if known.dtype == np.float32 else None
    codes = dequantised(graph, name)
    if codes is None or codes.values is None or codes.scale is None:
        return None
    if {codes.scale.size, codes.zero.size} != {1}:
        return None
    whole = codes.values.astype(np.float32) - np.float32(codes.number)
    return np.asarray(whole * codes.step, np.float32).reshape(codes.values.shape)


def kernel_of(line: Line, x: QuantisedTensor, y: QuantisedTensor) -> Kernel | None:
    """Return the kernel that makes the codes that a line makes.

    A weight is that of 1..127 for which the bias is nearest to an integer, in codes of y.

    Returns
    -------
    None : there is none whose results are within 1/128 of a code before they are rounded.
    """
    step, to = np.float64(x.step[0]), np.float64(y.step[0])
    size = np.abs(line.a)
    flat = size == 0
    each = np.where(flat, 1, size)
    exact = np.outer(_WEIGHTS, line.b / (step * each))
    apart = np.abs(exact - np.rint(exact)) * (each * step / to) / _WEIGHTS[:, None]
    best = np.where(np.abs(exact) < _BIAS, apart, np.inf).argmin(axis=0)
    bias = np.where(flat, np.copysign(_NOUGHT, line.b), np.rint(exact[best, np.arange(best.size)]))
    nought = np.maximum(np.abs(line.b), np.finfo(np.float32).tiny) / (_NOUGHT * step)
    scale = np.where(flat, nought, size / _WEIGHTS[best]).astype(np.float32)
    if (np.abs(bias) >= _BIAS).any() or not (np.isfinite(scale) & (scale > 0)).all():
        return None
    weights = np.where(flat, 0, np.copysign(_WEIGHTS[best], line.a))
    made = Kernel(weights=weights.astype(np.int8), scale=scale, bias=bias.astype(np.int32))
    return made if _is_like(made, line, x, y) else None


def _is_like(made: Kernel, line: Line, x: QuantisedTensor, y: QuantisedTensor) -> bool:
    """Return whether a kernel makes what a line makes, for all codes and channels."""
    low, high = limits(x.zero.dtype) or (0, -1)
    numbers = np.arange(low, high + 1)[:, None] - x.number
    wanted = (line.a * (numbers * np.float64(x.step[0])) + line.b) / np.float64(y.step[0])
    sums = made.weights.astype(np.int64) * numbers + made.bias
    actual = sums * (x.step * made.scale / y.step).astype(np.float64)
    ends = np.array(limits(y.zero.dtype)) - y.number + [-1, 1]
    return bool(np.abs(np.clip(wanted, *ends) - np.clip(actual, *ends)).max() <= _NEAR)
