"""How a network is read, as a user says it: where its samples are, constants, states."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path

import numpy as np

from carrysave.compiler.front.inputs import folded
from carrysave.compiler.front.onnx_model import load
from carrysave.compiler.front.samples import Samples
from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.graph.names import within_file

__all__ = ["ReadOptions"]


@dataclass(frozen=True)
class ReadOptions:
    """What a user says of a model besides its file.

    Parameters
    ----------
    batch_axis, states : of :meth:`carrysave.compiler.front.samples.Samples.of`.
    constants : inputs that are a part of the model, .npy files or arrays by name.
    """

    batch_axis: str | None = None
    constants: Mapping[str, str | PathLike[str] | np.ndarray] = field(default_factory=dict)
    states: Mapping[str, str] = field(default_factory=dict)

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
        with within_file(model):
            return graph, Samples.of(graph, self.batch_axis, self.states)
