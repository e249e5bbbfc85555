"""Convolutions in place of other operators, where the block can do them."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TypeVar

import numpy as np
from onnx import NodeProto, helper, numpy_helper

from carrysave.compiler.graph.graph import Graph, with_nodes
from carrysave.compiler.lowered.lowered import Lowered
from carrysave.compiler.passes.match_between import match_between
from carrysave.compiler.target.target import Target

__all__ = ["Constants", "channels_second", "moved", "with_convolutions"]

Constants = dict[str, np.ndarray]
"""Those of new nodes, by name."""
T = TypeVar("T")
Write = Callable[[Graph, T, Constants], Iterable[NodeProto]]
"""Makes nodes, a convolution at least, and adds their constants."""


def with_convolutions(
    lowered: Lowered, every: Mapping[str, T], write: Write[T], target: Target
) -> Lowered:
    """Return a model with new nodes before quantisers; what the block cannot do stays.

    Parameters
    ----------
    every : what becomes convolutions, by the codes that its quantiser makes.
    write : its new nodes, in place of the quantiser.
    """
    if not every:
        return lowered
    made, sums = _written(lowered.now, every, write)
    chosen = {name: one for name, one in every.items() if _fits(made, sums[name], target)}
    if len(chosen) < len(every):
        return with_convolutions(lowered, chosen, write, target)
    return replace(lowered, proto=made.proto)


def _written(graph: Graph, every: Mapping[str, T], write: Write[T]) -> tuple[Graph, dict[str, str]]:
    """Return a model with new nodes, and what the first convolution of each makes."""
    nodes: list[NodeProto] = []
    constants: Constants = {}
    sums: dict[str, str] = {}
    for node in graph.nodes:
        name = node.output[0]
        if name not in every:
            nodes.append(node)
            continue
        new = list(write(graph, every[name], constants))
        sums[name] = next(one.output[0] for one in new if one.op_type == "Conv")
        nodes += new
    more = [numpy_helper.from_array(values, name) for name, values in constants.items()]
    return Graph(with_nodes(graph.proto, nodes, graph.outputs, more)), sums


def _fits(made: Graph, sums: str, target: Target) -> bool:
    """Return whether the block can do the convolution that makes these sums."""
    try:
        match = match_between(made, made.makers[sums])
        if match is None or not match.behind:
            return False
        match.product.check(target)
    except ValueError:
        return False
    return True


def channels_second(rank: int, axis: int) -> tuple[str, list[int], list[int]] | None:
    """Return what makes channels the second axis of three at least, and the way back.

    Returns
    -------
    An operator, and its numbers there and back, for :func:`moved`; None: they are that already.
    """
    if rank < 3:
        return "Reshape", [0, 0, 1], [0, 0]
    if axis == 1:
        return None
    turn = [0, axis, *(at for at in range(1, rank) if at != axis)]
    return "Transpose", turn, [int(at) for at in np.argsort(turn, kind="stable")]


def moved(operator: str, numbers: list[int], x: str, y: str, constants: Constants) -> NodeProto:
    """Return a Transpose by these axes, or a Reshape to these sizes; add its constant."""
    if operator == "Transpose":
        return helper.make_node(operator, [x], [y], y, perm=numbers)
    constants[f"{y}_shape"] = np.array(numbers, np.int64)
    return helper.make_node(operator, [x, f"{y}_shape"], [y], y)
