"""Inputs and labels, of files or not, checked against a model."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from carrysave.compiler.graph.graph import Graph
from carrysave.errors import UsageError
from carrysave.weights.array_files import read_arrays

__all__ = ["batch_of", "read_inputs", "read_labels"]

_BATCH = 8


def read_inputs(
    data: Path | np.ndarray | Mapping[str, np.ndarray], graph: Graph, option: str
) -> dict[str, np.ndarray]:
    """Return inputs: an array for the only one, or all by name; of a file, or as they are.

    Raises
    ------
    FileNotFoundError, FileError, UsageError, ValueError
        A file that is missing or damaged, or inputs that do not fit the model.
    """
    arrays = read_arrays(data) if isinstance(data, Path) else data
    if not isinstance(arrays, Mapping):
        if len(graph.inputs) != 1:
            raise UsageError(
                f"{option} must be an .npz with {', '.join(graph.inputs)}, not one array"
                if isinstance(data, Path)
                else f"{option} must be arrays by name, {', '.join(graph.inputs)}, not one"
            )
        arrays = {next(iter(graph.inputs)): arrays}
    arrays = {name: np.asarray(array) for name, array in arrays.items()}
    sizes = {array.shape[:1] for array in arrays.values()}
    if len(sizes) != 1 or sizes == {()} or sizes == {(0,)}:
        raise UsageError(f"{option} must hold as many inputs, one or more, in each array")
    graph.check_inputs(arrays)
    return arrays


def batch_of(batch: int | None, graph: Graph, inputs: dict[str, np.ndarray]) -> int:
    """Return the batch size: the requested one, if the model's is open."""
    count = len(next(iter(inputs.values())))
    fixed = {shape[0] for _, shape in graph.inputs.values() if isinstance(shape[0], int)}
    if not fixed:
        return batch or _BATCH
    (size,) = fixed if len(fixed) == 1 else (0,)
    if batch not in (None, size):
        raise UsageError(f"--batch must be {size}, as in the model, not {batch}")
    if not size or count % size:
        raise UsageError(f"--input must be a multiple of {size} inputs, not {count}")
    return size


def read_labels(data: Path | np.ndarray | None, count: int) -> np.ndarray | None:
    """Return the labels of the inputs, if there are any, of a file or not."""
    if data is None:
        return None
    labels = read_arrays(data) if isinstance(data, Path) else np.asarray(data)
    if (
        not isinstance(labels, np.ndarray)
        or labels.shape != (count,)
        or labels.dtype.kind not in "iu"
    ):
        raise UsageError(f"--labels must be {count} integers, one for each input")
    return labels
