"""LSTMs and GRUs in floats get weights of codes: onnxruntime's static quantiser leaves them out.

LSTMs become what its dynamic quantiser makes of them: int8 weights with a scale for each column,
and activations that are quantised by their range, step by step. So do GRUs, for which it has no
such operator: theirs is of the block's domain.
"""

import numpy as np
from onnx import NodeProto, helper, numpy_helper

from carrysave.compiler.graph.graph import DOMAIN, MICROSOFT, Graph, with_nodes
from carrysave.compiler.lowered.recurrent import GRU, KIND

__all__ = ["quantise_recurrent"]

_GIVEN = 8
"""Inputs of an LSTM; a GRU has the first 6."""
_KINDS = {"LSTM": (MICROSOFT, KIND), "GRU": (DOMAIN, GRU)}
_MOST = np.float32(127)


def quantise_recurrent(graph: Graph) -> Graph:
    """Return a model whose LSTMs and GRUs have weights of codes; itself, if it has none."""
    nodes: list[NodeProto] = []
    made: list[tuple[np.ndarray, str]] = []
    for node in graph.nodes:
        given = [*node.input, *[""] * _GIVEN][:_GIVEN]
        weights = [graph.constants.get(name) for name in given[1:3]]
        plain = all(one.name != "layout" or not one.i for one in node.attribute)
        floats = [one for one in weights if one is not None and one.dtype == np.float32]
        known = not node.domain and node.op_type in _KINDS
        if not known or len(floats) < len(weights) or not plain:
            nodes.append(node)
            continue
        names: list[str] = []
        more: list[str] = []
        for what, values in zip("WR", floats, strict=True):
            turned = values.transpose(0, 2, 1)
            size = np.abs(turned).max(axis=1)
            scale = (np.where(size > 0, size, _MOST) / _MOST).astype(np.float32)
            codes = np.rint(turned / scale[:, None]).astype(np.int8)
            for part, array in (
                ("codes", codes),
                ("scale", scale),
                ("zero", np.zeros(scale.shape, np.int8)),
            ):
                name = graph.fresh(f"{node.output[0] or node.name}/{what}_{part}")
                made.append((array, name))
                (names if part == "codes" else more).append(name)
        domain, kind = _KINDS[node.op_type]
        quantised = helper.make_node(
            kind, [given[0], *names, *given[3:], *more], node.output, node.name, domain=domain
        )
        quantised.attribute.extend(one for one in node.attribute if one.name != "layout")
        nodes.append(quantised)
    if not made:
        return graph
    more_constants = [numpy_helper.from_array(*one) for one in made]
    return Graph(with_nodes(graph.proto, nodes, graph.outputs, more_constants))
