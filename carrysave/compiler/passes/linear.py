"""Maps of codes that are resized linearly by whole numbers: convolutions of single channels.

Each of the s numbers that a place becomes along an axis is a sum of two neighbours, whose shares
are integers over a common one: s kernels of a few weights, which are exact. What is beyond an edge
is the number at it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from math import gcd, prod

import numpy as np
from onnx import NodeProto, helper

from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.graph.kernels import Unsupported, attributes
from carrysave.compiler.graph.names import key
from carrysave.compiler.lowered.lowered import Lowered
from carrysave.compiler.passes.convolutions import Constants, with_convolutions
from carrysave.compiler.passes.match_between import follow
from carrysave.compiler.passes.quantised_tensor import codes_of_one_scale
from carrysave.compiler.passes.setting import Setting

__all__ = ["linear"]

_BYTES = np.int8, np.uint8
_OLDEST = 13
"""Version of operators since which codes can be padded."""
_RANKS = (3, 4)
_MOST = 127
_HALF = ("half_pixel", "pytorch_half_pixel")
_KNOWN = {"mode", "coordinate_transformation_mode", "nearest_mode", "cubic_coeff_a"}
_DEFAULTS = {"exclude_outside": 0, "extrapolation_value": 0.0, "antialias": 0}


@dataclass(frozen=True, kw_only=True, eq=False)
class _Resized:
    """A node that is a convolution.

    Members
    -------
    node : of the model.
    scales : of each axis of space.
    shares : s x taps integers of each, over `parts`.
    before, after : places that the kernel reaches before and behind the one in the middle.
    behind : what limits and quantises its results.
    """

    node: NodeProto
    scales: tuple[int, ...]
    shares: list[np.ndarray]
    parts: int
    before: list[int]
    after: list[int]
    behind: list[NodeProto]


def linear(lowered: Lowered, setting: Setting) -> Lowered:
    """Return a model with convolutions in place of these nodes, where the block has them."""
    graph = lowered.now
    version = next(one.version for one in graph.proto.opset_import if not one.domain)
    if version < _OLDEST:
        return lowered
    every: dict[str, _Resized] = {}
    for node in graph.nodes:
        plain = not node.domain and node.op_type == "Resize" and key(node) not in setting.without
        one = _resized(graph, node) if plain else None
        if one is not None:
            every[one.behind[-1].output[0]] = one
    return with_convolutions(lowered, every, _convolutions, setting.target)


def _resized(graph: Graph, node: NodeProto) -> _Resized | None:
    """Return what a node does; None: that is no sum of neighbours by whole numbers."""
    try:
        codes = codes_of_one_scale(graph, node.input[0])
    except Unsupported:
        return None
    shape, values = graph.shapes.get(node.input[0]), attributes(node)
    given = [graph.constants.get(name) for name in [*node.input, "", ""][:4]]
    if codes is None or codes.zero.dtype not in _BYTES or shape is None or len(shape) not in _RANKS:
        return None
    others = values.keys() - _KNOWN
    if values.get("mode") != b"linear" or any(
        values[name] != _DEFAULTS.get(name) for name in others
    ):
        return None
    scales = _scales(shape, given[2], given[3])
    if scales is None:
        return None
    how = values.get("coordinate_transformation_mode", b"half_pixel").decode()
    if how not in (*_HALF, "asymmetric"):
        return None
    shares, parts, before, after = [], 1, [], []
    for scale in scales:
        rows, whole, first, last = _shares(scale, how in _HALF)
        shares.append(rows)
        before.append(first)
        after.append(last)
        parts *= whole
    y, _, _, behind = follow(graph, node.output[0])
    most = prod(int(rows.max()) for rows in shares)
    if y is None or y.zero.dtype not in _BYTES or most > _MOST:
        return None
    return _Resized(
        node=node,
        scales=scales,
        shares=shares,
        parts=parts,
        before=before,
        after=after,
        behind=behind,
    )


def _scales(
    shape: Sequence[int | None], scales: np.ndarray | None, sizes: np.ndarray | None
) -> tuple[int, ...] | None:
    """Return the whole numbers of the axes of space; None: there are none."""
    if any(size is None for size in shape[1:]):
        return None
    if scales is not None and scales.size == len(shape):
        numbers = scales.astype(np.float64).tolist()
    elif sizes is not None and sizes.size == len(shape):
        rest = [size / one for size, one in zip(sizes.tolist()[1:], shape[1:], strict=True) if one]
        numbers = [1.0 if shape[0] in (None, sizes.tolist()[0]) else 0.0, *rest]
    else:
        return None
    if len(numbers) != len(shape) or not all(one in range(1, _MOST + 1) for one in numbers):
        return None
    return tuple(map(int, numbers[2:])) if numbers[:2] == [1, 1] else None


def _shares(scale: int, half: bool) -> tuple[np.ndarray, int, int, int]:
    """Return the shares of neighbours in each of the numbers that a place becomes.

    Returns
    -------
    Integers, numbers x taps, over an integer; taps before and behind the middle one.
    """
    places = [2 * at + 1 - scale if half else at for at in range(scale)]
    whole = 2 * scale if half else scale
    common = reduce(gcd, places, whole)
    before, after = int(min(places) < 0), int(max(places) > 0)
    rows = np.zeros((scale, before + 1 + after), np.int64)
    for row, place in zip(rows, places, strict=True):
        row[before] = whole - abs(place)
        if place:
            row[before + (1 if place > 0 else -1)] = abs(place)
    return rows // common, whole // common, before, after


def _convolutions(graph: Graph, one: _Resized, constants: Constants) -> Iterator[NodeProto]:
    """Yield the nodes of one in its new form; add their constants."""
    result, source = one.behind[-1].output[0], graph.makers[one.node.input[0]]
    channels, *space = (size or 0 for size in graph.shapes[one.node.input[0]][1:])
    axes = len(space)

    def constant(what: str, values: np.ndarray) -> str:
        name = graph.fresh(f"{result}/{what}")
        constants[name] = values
        return name

    def fresh(what: str) -> str:
        return graph.fresh(f"{result}/{what}")

    pads = constant("pads", np.array([0, 0, *one.before, 0, 0, *one.after], np.int64))
    codes, floats = fresh("padded"), fresh("floats")
    yield helper.make_node("Pad", [source.input[0], pads], [codes], codes, mode="edge")
    yield helper.make_node("DequantizeLinear", [codes, *source.input[1:]], [floats], floats)
    scale, made = constant("scale", np.array(1 / one.parts, np.float32)), list[str]()
    for number in np.ndindex(*one.scales):
        rows = [shares[at] for shares, at in zip(one.shares, number, strict=True)]
        kernel = reduce(np.multiply.outer, rows).astype(np.int8)
        what = "_".join(map(str, number))
        weights = constant(f"weights{what}", np.tile(kernel, (channels, 1, *(1,) * axes)))
        kernel, name = fresh(f"kernel{what}"), fresh(f"sums{what}")
        yield helper.make_node("DequantizeLinear", [weights, scale], [kernel], kernel)
        yield helper.make_node(
            "Conv", [floats, kernel], [name], f"{key(one.node)}/{what}", group=channels
        )
        for place, node in enumerate(one.behind):
            after = NodeProto()
            after.CopyFrom(node)
            after.input[0], name = name, fresh(f"behind{what}_{place}")
            after.output[0] = after.name = name
            yield after
        made.append(name)
    # Of each place, the numbers that it becomes stand beside it.
    whole, split, turned = fresh("whole"), fresh("split"), fresh("turned")
    yield helper.make_node("Concat", made, [whole], whole, axis=1)
    apart = constant("apart", np.array([0, *one.scales, channels, *space], np.int64))
    yield helper.make_node("Reshape", [whole, apart], [split], split)
    turn = [0, 1 + axes, *(at for axis in range(axes) for at in (2 + axes + axis, 1 + axis))]
    yield helper.make_node("Transpose", [split], [turned], turned, perm=turn)
    sizes = [size * scale for size, scale in zip(space, one.scales, strict=True)]
    joined = constant("sizes", np.array([0, channels, *sizes], np.int64))
    yield helper.make_node("Reshape", [turned, joined], [result], f"{result}/joined")
