"""Convolutions in place of other operators, where the block can do them."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TypeVar

import numpy as np
from onnx import NodeProto, numpy_helper

from carrysave.compiler.graph.graph import Graph, with_nodes
from carrysave.compiler.lowered.lowered import Lowered
from carrysave.compiler.passes.match_between import match_between
from carrysave.compiler.target.target import Target

__all__ = ["Constants", "with_convolutions"]

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
