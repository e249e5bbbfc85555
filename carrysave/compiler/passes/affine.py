"""Operators that scale and shift channels of codes become convolutions of single channels.

A chain of Add, Sub, Mul, Div and BatchNormalization with constants, from a dequantiser to a
quantiser, is a kernel of one weight and a bias in each channel. An AveragePool whose windows all
count as many numbers is a kernel of ones.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from onnx import NodeProto, helper

from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.graph.kernels import Unsupported, attributes
from carrysave.compiler.graph.names import key
from carrysave.compiler.lowered.lowered import Lowered
from carrysave.compiler.passes.channels import Kernel, kernel_of, line_of
from carrysave.compiler.passes.convolutions import (
    Constants,
    channels_second,
    moved,
    with_convolutions,
)
from carrysave.compiler.passes.match_between import follow
from carrysave.compiler.passes.quantised_tensor import QuantisedTensor, codes_of_one_scale
from carrysave.compiler.passes.setting import Setting

__all__ = ["affine"]

_BYTES = np.int8, np.uint8
_RANKS = range(2, 5)
_GEOMETRY = frozenset(("kernel_shape", "strides", "pads", "dilations"))
_POOL = _GEOMETRY | {"auto_pad", "ceil_mode", "count_include_pad"}


@dataclass(frozen=True, kw_only=True)
class _Chain:
    """Nodes that are a convolution.

    Members
    -------
    first : of them.
    x : name of the floats that it takes, which are dequantised codes.
    rank, axis : of x, and of its channels.
    kernel, space : weights, and the sizes of a window.
    more : attributes of the convolution.
    behind : what limits and quantises its results.
    """

    first: NodeProto
    x: str
    rank: int
    axis: int
    kernel: Kernel
    space: tuple[int, ...]
    more: Mapping[str, Any]
    behind: list[NodeProto]


def affine(lowered: Lowered, setting: Setting) -> Lowered:
    """Return a model with convolutions in place of these operators, where the block has them."""
    graph = lowered.now
    chains: dict[str, _Chain] = {}
    for node in graph.nodes:
        if node.domain or key(node) in setting.without:
            continue
        for name in dict.fromkeys(node.input[:2]):
            chain = _begun(graph, node, name)
            if chain is not None:
                chains.setdefault(chain.behind[-1].output[0], chain)
    return with_convolutions(lowered, chains, _convolution, setting.target)


def _begun(graph: Graph, node: NodeProto, x: str) -> _Chain | None:
    """Return the chain that a node begins; None: it begins none."""
    try:
        codes = codes_of_one_scale(graph, x)
        if codes is None or codes.zero.dtype not in _BYTES:
            return None
        return _pool(graph, node, x) or _line(graph, node, x, codes)
    except Unsupported:
        return None  # Codes that are none of bytes: that is said where products are matched.


def _line(graph: Graph, first: NodeProto, x: str, codes: QuantisedTensor) -> _Chain | None:
    """Return operators with constants, as many as there are, as a chain; None: they are none."""
    line = line_of(graph, first, x)
    name = first.output[0]
    while line is not None and len(readers := graph.readers.get(name, [])) == 1:
        after = line_of(graph, readers[0], name) if name not in graph.outputs else None
        both = line.then(after) if after is not None else None
        if both is None:
            break
        line, name = both, readers[0].output[0]
    y, _, _, behind = follow(graph, name)
    if line is None or not line.axis or y is None or y.zero.dtype not in _BYTES:
        return None
    kernel, rank = kernel_of(line, codes, y), len(graph.shapes[x])
    if kernel is None or rank not in _RANKS:
        return None
    space = (1,) * max(1, rank - 2)
    return _Chain(
        first=first, x=x, rank=rank, axis=line.axis, kernel=kernel, space=space, more={},
        behind=behind,
    )  # fmt: skip


def _pool(graph: Graph, node: NodeProto, x: str) -> _Chain | None:
    """Return an AveragePool as a chain; None: it is none, or its windows count other numbers."""
    shape, values = graph.shapes.get(x), attributes(node)
    if node.op_type != "AveragePool" or shape is None:
        return None
    padded = any(values.get("pads", ())) and not values.get("count_include_pad")
    sided = values.get("auto_pad", b"NOTSET") not in (b"NOTSET", b"VALID")
    if padded or sided or values.get("ceil_mode") or not values.keys() <= _POOL:
        return None
    y, _, _, behind = follow(graph, node.output[0])
    channels, space = shape[1], tuple(values["kernel_shape"])
    if y is None or y.zero.dtype not in _BYTES or channels is None or len(shape) not in _RANKS[1:]:
        return None
    ones = Kernel(
        weights=np.ones(channels, np.int8),
        scale=np.full(channels, 1 / prod(space), np.float32),
        bias=np.zeros(channels, np.int32),
    )
    more = {name: value for name, value in values.items() if name in _GEOMETRY}
    return _Chain(
        first=node, x=x, rank=len(shape), axis=1, kernel=ones, space=space, more=more,
        behind=behind,
    )  # fmt: skip


def _convolution(graph: Graph, chain: _Chain, constants: Constants) -> Iterator[NodeProto]:
    """Yield the nodes of a chain in its new form; add their constants."""
    result, source = chain.behind[-1].output[0], graph.makers[chain.x]
    move = channels_second(chain.rank, chain.axis)

    def fresh(what: str) -> str:
        return graph.fresh(f"{result}/{what}")

    name = chain.x
    if move is not None:
        codes, name = fresh("there"), fresh("floats")
        yield moved(move[0], move[1], source.input[0], codes, constants)
        yield helper.make_node("DequantizeLinear", [codes, *source.input[1:]], [name], name)
    kernel, inputs = chain.kernel, [name]
    weights = np.repeat(kernel.weights, prod(chain.space)).reshape(-1, 1, *chain.space)
    step = graph.constants[source.input[1]].astype(np.float32).reshape(-1)
    scales = (weights, kernel.scale), (kernel.bias, step * kernel.scale)
    for what, values in zip(("weights", "bias"), scales, strict=True):
        inputs.append(fresh(what))
        names = [f"{inputs[-1]}_{part}" for part in ("codes", "scale")]
        constants |= dict(zip(names, values, strict=True))
        yield helper.make_node("DequantizeLinear", names, inputs[-1:], inputs[-1], axis=0)
    name, more = fresh("sums"), dict(chain.more, group=len(weights))
    yield helper.make_node("Conv", inputs, [name], key(chain.first), **more)
    for number, node in enumerate(chain.behind):
        made = NodeProto()
        made.CopyFrom(node)
        name, made.input[0] = fresh(f"behind{number}"), name
        name = result if node is chain.behind[-1] and move is None else name
        made.output[0] = name
        yield made
    if move is not None:
        yield moved(move[0], move[2], name, result, constants)
