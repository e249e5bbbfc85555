"""Where things are in a program's memory, as JSON has it, and back."""

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np

from carrysave.compiler.program.buffers import Buffer
from carrysave.compiler.program.floats import Format
from carrysave.compiler.program.places import places_of, regular
from carrysave.compiler.program.program import Program
from carrysave.compiler.timing.golden_job import CHIP
from carrysave.driver.system import Tensor

__all__ = ["layout", "placed"]

_REPEATED, _FEW = 16, 1 << 24
"""Codes of a tensor for a byte of memory, at most, and what it may have whatever that is: axes
without a stride repeat codes, and each code's address takes memory here."""


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
    of = program.results.get(name) or program.buffers[name]
    kind, shape = of.format.name if of.format else "buffer", [of.rows, of.columns]
    return _plain(name, kind, str(of.type), shape, of.address, [of.stride, of.step])


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
    strides = regular(sources)
    entry = _plain(name, "tensor", str(tensor.kind), list(sources.shape), first, strides)
    return entry | {
        "addresses": sources.reshape(-1).tolist() if strides is None else None,
        "offset": tensor.offset,
        "scale": None if tensor.scale is None else list(tensor.scale),
    }


def placed(one: Mapping[str, Any], size: int, chip: int) -> Tensor | Buffer:
    """Return what a layout says.

    Parameters
    ----------
    size, chip : bytes of the program's memory, and of that on chip.

    Raises
    ------
    ValueError
        It is not within either, or of more codes than fit into memory here.
    """
    name, shape, first = str(one["name"]), [int(each) for each in one["shape"]], int(one["address"])
    most = max(_REPEATED * size, _FEW)
    if min(shape, default=0) < 0 or prod(shape) > most:
        raise ValueError(f"{name!r} must have 0..{most:,} codes, not a shape of {shape}")
    if one["kind"] == "tensor":
        if one["addresses"] is None:
            sources = places_of(first, shape, [int(each) for each in one["strides"]])
        else:
            sources = np.array(one["addresses"], np.int64).reshape(shape)
        if sources.size:
            _check(name, (int(sources.min()), int(sources.max()) + 1), size, chip)
        scale = None if one["scale"] is None else (float(one["scale"][0]), int(one["scale"][1]))
        return Tensor(sources, np.dtype(one["type"]), int(one["offset"]), scale)
    rows, columns = shape
    stride, step = (int(each) for each in one["strides"])
    format_ = Format.NONE if one["kind"] == "buffer" else Format[one["kind"]]
    buffer = Buffer(
        name=name, address=first, rows=rows, columns=columns, stride=stride, column=step,
        bits=8 * np.dtype(one["type"]).itemsize, format=format_,
    )  # fmt: skip
    _check(name, (first, buffer.end if rows > 0 and columns > 0 else -1), size, chip)
    return buffer


def _check(name: str, span: tuple[int, int], size: int, chip: int) -> None:
    """Refuse what is not from an address to before another one in memory, or on chip."""
    first, end = span
    if not (0 <= first < end <= size or CHIP <= first < end <= CHIP + chip):
        raise ValueError(
            f"{name!r} must be within the {size:,} bytes of memory, or the {chip:,} on chip"
        )
