"""Nodes that neither the block nor the host can run, one by one by onnxruntime."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx import GraphProto, NodeProto, helper

from .names import place
from .reference_runtime import session

__all__ = ["Fallback", "captured", "has_graphs"]

_LATEST = 10
"""Version of the format of models that are made here."""


def has_graphs(node: NodeProto) -> bool:
    """Tell whether a node has subgraphs, such as a loop has."""
    return any(True for _ in _graphs(node))


def captured(node: NodeProto) -> list[str]:
    """Return the tensors that a node's subgraphs take from around it, in the order of use."""
    found: dict[str, None] = {}
    for graph in _graphs(node):
        own = {one.name for one in (*graph.input, *graph.initializer)}
        for inner in graph.node:
            found |= dict.fromkeys(
                name for name in (*inner.input, *captured(inner)) if name and name not in own
            )
            own.update(inner.output)
        found |= dict.fromkeys(one.name for one in graph.output if one.name not in own)
    return list(found)


def _graphs(node: NodeProto) -> Iterator[GraphProto]:
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield attribute.g
        yield from attribute.graphs


@dataclass(frozen=True, eq=False)
class Fallback:
    """A node for onnxruntime.

    Members
    -------
    node : in the model.
    reason : why it needs onnxruntime.
    opsets : versions of operators, by domain.
    """

    node: NodeProto
    reason: str
    opsets: dict[str, int]
    _sessions: dict[Any, Any] = field(default_factory=dict)

    @property
    def inputs(self) -> list[str]:
        """Names of all tensors that it takes."""
        own = list(self.node.input)
        return own + [name for name in captured(self.node) if name not in own]

    def run(self, given: Sequence[Any]) -> list[Any]:
        """Run it on its inputs.

        Raises
        ------
        ValueError
            onnxruntime cannot.
        """
        values = {
            name: value for name, value in zip(self.inputs, given, strict=True) if name
        }  # fmt: skip
        for name, value in values.items():
            if not isinstance(value, np.ndarray):
                raise ValueError(f"{place(self.node)}: {name!r} must be a tensor")
        kinds = tuple((name, value.dtype.str, value.ndim) for name, value in values.items())
        if kinds not in self._sessions:
            self._sessions[kinds] = session(self._model(values).SerializeToString())
        names = [name for name in self.node.output if name]
        try:
            found = dict(zip(names, self._sessions[kinds].run(names, values), strict=True))
        except ValueError as error:
            raise ValueError(f"{place(self.node)}: {error}") from None
        return [found.get(name) for name in self.node.output]

    def _model(self, values: dict[str, np.ndarray]) -> onnx.ModelProto:
        inputs = [
            helper.make_tensor_value_info(
                name, helper.np_dtype_to_tensor_dtype(value.dtype), [None] * value.ndim
            )
            for name, value in values.items()
        ]
        # Types of outputs are not known: onnxruntime finds them.
        outputs = [onnx.ValueInfoProto(name=name) for name in self.node.output if name]
        graph = helper.make_graph([self.node], "fallback", inputs, outputs)
        opsets = [helper.make_opsetid(domain, number) for domain, number in self.opsets.items()]
        return helper.make_model(graph, opset_imports=opsets, ir_version=_LATEST)
