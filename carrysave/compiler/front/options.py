"""How a network is read, as a user says it: where its samples are, constants, states."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path

import numpy as np
from onnx import ModelProto

from carrysave.compiler.front.inputs import folded, read_inputs, zeros
from carrysave.compiler.front.onnx_model import load
from carrysave.compiler.front.pruning import prune
from carrysave.compiler.front.samples import Samples
from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.graph.names import within_file
from carrysave.errors import ArgumentError, check_choice, refusal
from golden.formats.sparse import DENSE, SPARSITY, SparseFormat

__all__ = ["ReadOptions", "sized"]


@dataclass(frozen=True)
class ReadOptions:
    """What a user says of a model besides its file.

    Parameters
    ----------
    batch_axis, states : of :meth:`carrysave.compiler.front.samples.Samples.of`.
    constants : inputs that are a part of the model, .npy files or arrays by name.
    prune : codes of each group along K that stay of constant weights, such as ``2:4``.
    """

    batch_axis: str | None = None
    constants: Mapping[str, str | PathLike[str] | np.ndarray] = field(default_factory=dict)
    states: Mapping[str, str] = field(default_factory=dict)
    prune: str = DENSE

    def __post_init__(self) -> None:
        """Check the choice."""
        check_choice("prune", self.prune, SPARSITY.options)

    def read(self, model: Path, *, subgraphs: bool = False) -> tuple[Graph, Samples]:
        """Read a model, and find where its samples are.

        Parameters
        ----------
        subgraphs : it may have nodes with subgraphs.

        Raises
        ------
        FileNotFoundError, FileError, UsageError
            A file that is missing or damaged, or options that do not fit the model.
        """
        constants = {
            name: Path(one) if isinstance(one, str | PathLike) else one
            for name, one in self.constants.items()
        }
        graph = folded(load(model, subgraphs=subgraphs), constants)
        if self.prune != DENSE:
            graph, _ = prune(graph, SparseFormat.parse(self.prune))
        with within_file(model):
            return graph, Samples.of(graph, self.batch_axis, self.states)

    def batch(
        self, graph: Graph, samples: Samples, data: Path | None, count: int
    ) -> dict[str, np.ndarray]:
        """Return the inputs that a program is compiled for.

        Parameters
        ----------
        graph, samples : of :meth:`read`.
        data : a file of inputs, whose sizes the program has; None: those of the model.
        count : samples of a run, where the model leaves it open.

        Raises
        ------
        FileNotFoundError, FileError, UsageError, ValueError
            As :func:`carrysave.compiler.front.inputs.read_inputs`, and more samples with states.
        """
        if count < 1:
            raise refusal("batch", "1 or more", str(count))
        if samples.states and count != 1:
            raise ArgumentError("{batch} must be 1 with {states}, not {_count}", _count=count)
        if data is None:
            return zeros(graph, count, samples)
        inputs = read_inputs(data, graph, "x", samples)
        # Between states it is one: each sample begins where the one before ended.
        return samples.part(inputs, 0, 1) if samples.states else inputs


def sized(graph: Graph, inputs: Mapping[str, np.ndarray]) -> Graph:
    """Return a model whose inputs have the sizes of some, where an `If` may ask for them."""
    if not any(node.op_type == "If" for node in graph.nodes):
        return graph
    proto = ModelProto()
    proto.CopyFrom(graph.proto)
    for one in proto.graph.input:
        shape = one.type.tensor_type.shape
        if one.name in inputs and len(shape.dim) == inputs[one.name].ndim:
            for dim, size in zip(shape.dim, inputs[one.name].shape, strict=True):
                dim.dim_value = size
    return Graph(proto)
