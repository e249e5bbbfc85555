"""Where things are in a program's memory, as JSON has it, and back."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from carrysave.compiler.program.array import TYPES, Array
from carrysave.compiler.program.buffers import Buffer
from carrysave.compiler.program.floats import Format
from carrysave.compiler.program.program import Program
from carrysave.driver.system import Tensor

__all__ = ["layout", "placed"]


def layout(program: Program, name: str) -> dict[str, Any]:
    """Say where a tensor, a result, or a buffer is.

    Returns
    -------
    ``name kind type shape address strides addresses offset scale``: strides of the axes in bytes,
    or if there are none all addresses. The byte of a tensor is a code less the offset, two's
    complement. `kind` is tensor, buffer, or the format of a result.
    """
    if name in program.tensors:
        return _tensor(name, program.tensors[name])
    if name in program.results:
        one = program.results[name]
        shape, strides = [one.rows, one.columns], [one.row, one.column]
        return _plain(
            name, one.format.name, str(np.dtype(TYPES[one.format])), shape, one.address, strides
        )
    of = program.buffers[name]
    strides = [of.stride, of.bits // 8]
    return _plain(name, "buffer", f"int{of.bits}", [of.rows, of.columns], of.address, strides)


def _plain(
    name: str, kind: str, type_: str, shape: list[int], address: int, strides: list[int] | None
) -> dict[str, Any]:
    return {
        "name": name, "kind": kind, "type": type_, "shape": shape, "address": address,
        "strides": strides, "addresses": None, "offset": 0, "scale": None,
    }  # fmt: skip


def _tensor(name: str, tensor: Tensor) -> dict[str, Any]:
    sources = tensor.sources
    first = int(sources.reshape(-1)[0])
    strides = [
        int(np.take(sources, 1, axis).reshape(-1)[0]) - first if size > 1 else 0
        for axis, size in enumerate(sources.shape)
    ]
    shape = list(sources.shape)
    regular = np.array_equal(_sources(first, shape, strides), sources)
    entry = _plain(name, "tensor", str(tensor.kind), shape, first, strides if regular else None)
    return entry | {
        "addresses": None if regular else sources.reshape(-1).tolist(),
        "offset": tensor.offset,
        "scale": None if tensor.scale is None else list(tensor.scale),
    }


def _sources(first: int, shape: list[int], strides: list[int]) -> np.ndarray:
    index = np.indices(shape, np.int64)
    return np.asarray(first + np.tensordot(np.array(strides, np.int64), index, 1))


def placed(one: Mapping[str, Any], size: int) -> Tensor | Array | Buffer:
    """Return what a layout says.

    Parameters
    ----------
    size : bytes of the program's memory.

    Raises
    ------
    ValueError
        It is not within them.
    """
    name, shape, first = str(one["name"]), [int(each) for each in one["shape"]], int(one["address"])
    if one["kind"] == "tensor":
        if one["addresses"] is None:
            sources = _sources(first, shape, [int(each) for each in one["strides"]])
        else:
            sources = np.array(one["addresses"], np.int64).reshape(shape)
        if sources.size and not 0 <= sources.min() <= sources.max() < size:
            raise ValueError(f"{name!r} must be within the {size:,} bytes of memory")
        scale = None if one["scale"] is None else (float(one["scale"][0]), int(one["scale"][1]))
        return Tensor(sources, np.dtype(one["type"]), int(one["offset"]), scale)
    rows, columns = shape
    row, column = (int(each) for each in one["strides"])
    bits = 8 * np.dtype(one["type"]).itemsize
    buffer = Buffer(name=name, address=first, rows=rows, columns=columns, bits=bits, stride=row)
    if not (first >= 0 and rows > 0 and columns > 0 and (buffer.on_chip or buffer.end <= size)):
        raise ValueError(f"{name!r} must be within the {size:,} bytes of memory")
    if one["kind"] == "buffer":
        return buffer
    return Array(
        address=first,
        format=Format[one["kind"]],
        rows=rows,
        columns=columns,
        row=row,
        column=column,
    )
