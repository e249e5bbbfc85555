"""ONNX models, and what is known about their tensors before they run."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import onnx
from onnx import ModelProto, NodeProto, numpy_helper

from carrysave.compiler.graph.names import quoted
from carrysave.compiler.graph.subgraphs import captured
from carrysave.compiler.graph.tensors import array_of, outline, without_constants
from hw.emit.user_files import shown

__all__ = ["DOMAIN", "MICROSOFT", "Graph", "Sizes", "needed", "with_nodes"]

DOMAIN = "carrysave"
"""Domain of the nodes that replace products; their attribute `index` is the product's index."""
MICROSOFT = "com.microsoft"
"""Domain of onnxruntime's own operators."""

Sizes = list[int | str]
"""A shape; open sizes are names, or "?"."""


@dataclass(frozen=True)
class Graph:
    """A model, and what is known about its tensors before it runs."""

    proto: ModelProto

    @cached_property
    def nodes(self) -> list[NodeProto]:
        """Nodes in the order of execution."""
        return list(self.proto.graph.node)

    @cached_property
    def constants(self) -> dict[str, np.ndarray]:
        """Constant tensors."""
        constants = {one.name: array_of(one) for one in self.proto.graph.initializer}
        for node in self.nodes:
            if node.op_type == "Constant" and node.attribute[0].name == "value":
                constants[node.output[0]] = numpy_helper.to_array(node.attribute[0].t)
        return constants

    @cached_property
    def types(self) -> dict[str, "np.dtype[Any]"]:
        """Types of tensors, where inferred."""
        kinds = {name: one.elem_type for name, one in self._inferred.items()}
        return {
            name: onnx.helper.tensor_dtype_to_np_dtype(kind) for name, kind in kinds.items() if kind
        }

    @cached_property
    def shapes(self) -> dict[str, list[int | None]]:
        """Sizes of tensors, where inferred; None: not known before the model runs."""
        return {
            name: [dim.dim_value if dim.HasField("dim_value") else None for dim in one.shape.dim]
            for name, one in self._inferred.items()
            if one.HasField("shape")
        }

    @cached_property
    def _inferred(self) -> dict[str, Any]:
        """Types of tensors in ONNX's own terms."""
        graph = onnx.shape_inference.infer_shapes(outline(self.proto)).graph
        return {
            one.name: one.type.tensor_type
            for one in (*graph.value_info, *graph.input, *graph.output)
        }

    def fresh(self, name: str) -> str:
        """Return a name that no tensor of the model has: this one, with a mark if need be."""
        while name in self._names:
            name += "'"
        return name

    @cached_property
    def _names(self) -> set[str]:
        graph = self.proto.graph
        known = {one.name for one in (*graph.input, *graph.output, *graph.initializer)}
        return known.union(*((*node.input, *node.output) for node in self.nodes))

    @cached_property
    def makers(self) -> dict[str, NodeProto]:
        """The node that makes a tensor."""
        return {name: node for node in self.nodes for name in node.output if name}

    @cached_property
    def readers(self) -> dict[str, list[NodeProto]]:
        """The nodes that read a tensor, once per use."""
        readers: dict[str, list[NodeProto]] = {}
        for node in self.nodes:
            for name in node.input:
                readers.setdefault(name, []).append(node)
        return readers

    @cached_property
    def outputs(self) -> list[str]:
        """Names of outputs."""
        return [one.name for one in self.proto.graph.output]

    @cached_property
    def inputs(self) -> dict[str, tuple["np.dtype[Any]", Sizes]]:
        """Type and shape of each input; open sizes are names."""
        inputs: dict[str, tuple[np.dtype[Any], Sizes]] = {}
        for one in self.proto.graph.input:
            if one.name in {constant.name for constant in self.proto.graph.initializer}:
                continue
            kind = onnx.helper.tensor_dtype_to_np_dtype(one.type.tensor_type.elem_type)
            inputs[one.name] = kind, _sizes_of(one)
        return inputs

    @cached_property
    def output_sizes(self) -> dict[str, Sizes | None]:
        """Shape of each output, as the file has it; None: the file has none."""
        return {
            one.name: _sizes_of(one) if one.type.tensor_type.HasField("shape") else None
            for one in self.proto.graph.output
        }

    def check_inputs(
        self, given: dict[str, np.ndarray], axes: Mapping[str, int] | None = None
    ) -> None:
        """Refuse inputs of other names, types or shapes than the model's.

        Sizes of one name must be one size, but those of the samples.

        Parameters
        ----------
        given : arrays by name.
        axes : axis of the sample of each input that has samples; None: the first of all.

        Raises
        ------
        ValueError
            States actual and expected inputs.
        """
        if set(given) != set(self.inputs):
            legal, actual = (", ".join(map(shown, names)) for names in (self.inputs, given))
            raise ValueError(f"inputs must be {legal}, not {actual}")
        sizes: dict[str, tuple[int, str]] = {}
        for name, (kind, shape) in self.inputs.items():
            array = given[name]
            axis = axes.get(name) if axes is not None else 0
            rest = [at for at in range(len(shape)) if at != axis]
            legal = " x ".join(shown(str(size)) for size in shape) or "a number"
            # Along the axis of samples batches are slices.
            fits = array.ndim == len(shape) and (axis is None or axis < len(shape))
            fits = fits and all(
                isinstance(shape[at], str) or shape[at] == array.shape[at] for at in rest
            )
            if not fits:
                actual_size = " x ".join(map(str, array.shape)) or "a number"
                raise ValueError(f"input {quoted(name)} must be {legal}, not {actual_size}")
            if array.dtype != kind:
                raise ValueError(f"input {quoted(name)} must be of {kind}, not {array.dtype}")
            for symbol, size in ((shape[at], array.shape[at]) for at in rest):
                if isinstance(symbol, int) or symbol == "?":
                    continue
                first, other = sizes.setdefault(symbol, (size, name))
                if size != first:
                    raise ValueError(
                        f"{shown(symbol)} of input {quoted(name)} must be {first}, as of"
                        f" {quoted(other)}, not {size}"
                    )


def _sizes_of(value: onnx.ValueInfoProto) -> Sizes:
    """Return the shape of an input or output."""
    return [
        size.dim_value if size.dim_value > 0 else size.dim_param or "?"
        for size in value.type.tensor_type.shape.dim
    ]


def needed(nodes: Sequence[NodeProto], outputs: Iterable[str]) -> tuple[list[NodeProto], set[str]]:
    """Return the nodes that outputs depend on, in their order, and all tensors of theirs."""
    wanted = set(outputs)
    useful = []
    for node in reversed(nodes):
        if wanted.intersection(node.output):
            wanted.update(node.input, captured(node))
            useful.append(node)
    return useful[::-1], wanted


def with_nodes(
    proto: ModelProto,
    nodes: Sequence[NodeProto],
    outputs: Iterable[str],
    more: Iterable[onnx.TensorProto] = (),
) -> ModelProto:
    """Return a model of other nodes: those that outputs depend on, and their constants.

    Domains that it had no nodes of are declared.

    Parameters
    ----------
    more : constants besides those of the model.
    """
    useful, wanted = needed(nodes, outputs)
    made = without_constants(proto)
    del made.graph.node[:]
    made.graph.node.extend(useful)
    declared = {one.domain for one in made.opset_import}
    for domain in dict.fromkeys(one.domain for one in useful if one.domain not in declared):
        made.opset_import.append(onnx.helper.make_opsetid(domain, 1))
    tensors = [*proto.graph.initializer, *more]
    made.graph.initializer.extend(one for one in tensors if one.name in wanted)
    return made
