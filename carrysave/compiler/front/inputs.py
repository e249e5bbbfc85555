"""Inputs and labels, of files or not, checked against a model."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from onnx import numpy_helper

from carrysave.compiler.front.samples import Samples, sizes_text
from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.graph.tensors import without_constants
from carrysave.errors import ArgumentError, check_choice, refusal
from carrysave.weights.array_files import read_arrays
from hw.emit.user_files import shown

__all__ = ["batch_of", "folded", "read_inputs", "read_labels", "zeros"]

_BATCH = 8


def folded(graph: Graph, constants: Mapping[str, Path | np.ndarray]) -> Graph:
    """Return a model in which some inputs are constants.

    Parameters
    ----------
    graph : the model.
    constants : .npy files, or arrays, by the names of inputs.

    Raises
    ------
    FileNotFoundError, FileError, UsageError
        A file that is missing or damaged, a name that is no input, values that do not fit it.
    """
    if not constants:
        return graph
    proto = without_constants(graph.proto)
    proto.graph.initializer.extend(graph.proto.graph.initializer)
    for name, data in constants.items():
        check_choice("constants", name, list(graph.inputs))
        values = read_arrays(data) if isinstance(data, Path) else np.asarray(data)
        kind, shape = graph.inputs[name]
        if not isinstance(values, np.ndarray):
            raise ArgumentError("{constants} {_name} must be one array, an .npy", _name=shown(name))
        fits = values.ndim == len(shape) and all(
            isinstance(one, str) or one == size
            for one, size in zip(shape, values.shape, strict=True)
        )
        if not fits or values.dtype != kind:
            raise ArgumentError(
                "{constants} {_name} must be {_legal}, not {_given}",
                _name=shown(name),
                _legal=f"{sizes_text(shape)} of {kind}",
                _given=f"{sizes_text(values.shape)} of {values.dtype}",
            )
        proto.graph.initializer.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
    rest = [one for one in proto.graph.input if one.name not in constants]
    del proto.graph.input[:]
    proto.graph.input.extend(rest)
    made = Graph(proto)
    if not made.inputs:
        raise ArgumentError("{constants}: an input must stay")
    return made


def read_inputs(
    data: Path | np.ndarray | Mapping[str, np.ndarray],
    graph: Graph,
    argument: str,
    samples: Samples | None = None,
) -> dict[str, np.ndarray]:
    """Return inputs: an array for the only one, or all by name; of a file, or as they are.

    Parameters
    ----------
    data : a file, .npy or .npz, or arrays.
    graph : the model.
    argument : its name, for errors.
    samples : where samples are; states that are not given are zeros. None: along the first axes.

    Raises
    ------
    FileNotFoundError, FileError, UsageError, ValueError
        A file that is missing or damaged, or inputs that do not fit the model.
    """
    arrays = read_arrays(data) if isinstance(data, Path) else data
    if not isinstance(arrays, Mapping):
        names = list(graph.inputs if samples is None else samples.inputs)
        if len(names) != 1:
            listed = ", ".join(names)
            if isinstance(data, Path):
                raise refusal(argument, f"an .npz with {listed}", "one array")
            raise refusal(argument, f"arrays by name, {listed}", "one")
        arrays = {names[0]: arrays}
    arrays = {name: np.asarray(array) for name, array in arrays.items()}
    axes = dict.fromkeys(arrays, 0) if samples is None else samples.inputs
    if samples is not None:
        arrays |= samples.first_states(graph, arrays)
    if set(arrays) != set(graph.inputs):
        graph.check_inputs(arrays, axes)
    sizes = {
        array.shape[axes[name] : axes[name] + 1] for name, array in arrays.items() if name in axes
    }
    if len(sizes) != 1 or sizes == {()} or sizes == {(0,)}:
        text = f"{{{argument}}} must hold as many inputs, one or more, in each array"
        raise ArgumentError(text)
    graph.check_inputs(arrays, axes)
    return arrays


def batch_of(
    batch: int | None,
    graph: Graph,
    inputs: Mapping[str, np.ndarray],
    samples: Samples | None = None,
) -> int:
    """Return the batch size: the requested one, if the model's is open.

    Between states it is one: each sample begins where the one before ended.
    """
    samples = samples or Samples(inputs=dict.fromkeys(graph.inputs, 0), outputs={})
    count = samples.count(inputs)
    sizes = {graph.inputs[name][1][axis] for name, axis in samples.inputs.items()}
    fixed = {size for size in sizes if isinstance(size, int)}
    if samples.states:
        if batch not in (None, 1) or fixed - {1}:
            wrong = batch if batch not in (None, 1) else max(fixed)
            raise ArgumentError("{batch} must be 1 with {states}, not {_batch}", _batch=wrong)
        return 1
    if not fixed:
        return batch or _BATCH
    (size,) = fixed if len(fixed) == 1 else (0,)
    if batch not in (None, size):
        raise refusal("batch", f"{size}, as in the model", str(batch))
    if not size or count % size:
        raise refusal("x", f"a multiple of {size} inputs", str(count))
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
        text = "{labels} must be {_count} integers, one for each input"
        raise ArgumentError(text, _count=count)
    return labels


def zeros(graph: Graph, batch: int, samples: Samples | None = None) -> dict[str, np.ndarray]:
    """Return inputs of the sizes that the model says.

    Parameters
    ----------
    graph : the model.
    batch : samples, where the model leaves it open.
    samples : where samples are; None: along the first axes.

    Raises
    ------
    UsageError
        It leaves other sizes open, or has another batch.
    """
    axes = dict.fromkeys(graph.inputs, 0) if samples is None else samples.inputs
    first = {} if samples is None else samples.first_states(graph, {})
    for name, axis in axes.items():
        kind, shape = graph.inputs[name]
        sizes = [
            batch if at == axis and not isinstance(size, int) else size
            for at, size in enumerate(shape)
        ]
        if not all(isinstance(size, int) for size in sizes):
            raise ArgumentError(
                "{x} must be given: input {_name} is of {_sizes}, which leaves sizes open",
                _name=repr(name),
                _sizes=" x ".join(map(str, shape)),
            )
        if sizes and isinstance(shape[axis], int) and batch not in (1, shape[axis]):
            raise refusal("batch", f"{shape[axis]}, as in the model", str(batch))
        first[name] = np.zeros([int(size) for size in sizes if size is not None], kind)
    return first
