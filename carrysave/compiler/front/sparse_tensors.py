"""Constants of ONNX that are of places and numbers: ``sparse_initializer``."""

from math import prod
from pathlib import Path

import numpy as np
from onnx import ModelProto, SparseTensorProto, TensorProto, numpy_helper

from carrysave.compiler.graph.memory import check_size
from carrysave.compiler.graph.names import quoted
from carrysave.compiler.graph.tensors import BITS, check_tensor, fill

__all__ = ["with_dense_tensors"]


def with_dense_tensors(path: Path, proto: ModelProto) -> None:
    """Put dense constants in place of the graph's sparse ones; those of subgraphs stay.

    Parameters
    ----------
    path : the model's, beside which values may be.
    proto : changed in place.

    Raises
    ------
    ValueError
        Places that go back, are there twice or are beyond the tensor; others than there are
        numbers; a tensor that is too large. It names the tensor.
    """
    sparse = proto.graph.sparse_initializer
    # Into a list: a field of protobuf must not grow while it is read.
    made = [_dense(path, one) for one in sparse]
    proto.graph.initializer.extend(made)
    del sparse[:]


def _dense(path: Path, one: SparseTensorProto) -> TensorProto:
    where = f"sparse tensor {quoted(one.values.name)}"
    dims = tuple(one.dims)
    if not one.values.name or not dims or min(dims) < 1:
        raise ValueError(f"{where} must have a name and sizes of 1 or more, not {list(dims)}")
    check_size(lambda: where, dims, BITS.get(one.values.data_type, 8))
    for part, tensor in (("values", one.values), ("indices", one.indices)):
        fill(path, f"{where}, {part}", tensor)
        check_tensor(f"{where}, {part}", tensor)
    if one.indices.data_type != TensorProto.INT64:
        raise ValueError(f"{where}: indices must be of int64")
    values, places = map(numpy_helper.to_array, (one.values, one.indices))
    if values.ndim != 1 or places.shape not in ((len(values),), (len(values), len(dims))):
        raise ValueError(
            f"{where}: indices must be one number, or {len(dims)}, for each of {values.size}"
            f" values in a row, not {list(places.shape)} for {list(values.shape)}"
        )
    sizes = dims if places.ndim == 2 else (prod(dims),)
    by_axis = places.reshape(len(values), len(sizes))
    if (wrong := np.flatnonzero(((by_axis < 0) | (by_axis >= sizes)).any(axis=1))).size:
        raise ValueError(
            f"{where}: indices must be within {list(sizes)}, not {by_axis[wrong[0]].tolist()}"
        )
    flat = np.ravel_multi_index(tuple(by_axis.T), sizes)
    if (back := np.flatnonzero(np.diff(flat) <= 0)).size:
        raise ValueError(
            f"{where}: indices must rise, not go from {by_axis[back[0]].tolist()} to"
            f" {by_axis[back[0] + 1].tolist()}"
        )
    dense = np.zeros(prod(dims), values.dtype)
    dense[flat] = values
    return numpy_helper.from_array(dense.reshape(dims), one.values.name)
