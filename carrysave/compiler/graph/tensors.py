"""Constants of a model: where they are, the files that hold them, and whether they are whole."""

import mmap
from collections.abc import Iterator
from math import prod
from pathlib import Path, PurePosixPath

import numpy as np
from onnx import AttributeProto, GraphProto, ModelProto, TensorProto, numpy_helper
from onnx.external_data_helper import uses_external_data
from onnx.helper import make_tensor_value_info, tensor_dtype_to_field, tensor_dtype_to_np_dtype

from carrysave.compiler.graph.names import label, quoted
from hw.emit.user_files import FileError, part, read_part

__all__ = [
    "BITS", "array_of", "check_tensor", "fill", "let_go", "named", "outline", "tensors", "whole",
    "without_constants", "without_mapped",
]  # fmt: skip

BITS: dict[int, int] = {
    TensorProto.FLOAT: 32, TensorProto.UINT8: 8, TensorProto.INT8: 8, TensorProto.UINT16: 16,
    TensorProto.INT16: 16, TensorProto.INT32: 32, TensorProto.INT64: 64, TensorProto.BOOL: 8,
    TensorProto.FLOAT16: 16, TensorProto.DOUBLE: 64, TensorProto.UINT32: 32,
    TensorProto.UINT64: 64,
}  # fmt: skip
"""Types of tensors that numpy has, by their bits."""
_CONSTANTS: dict[int, int] = {
    **BITS,
    TensorProto.BFLOAT16: 16,
    TensorProto.FLOAT8E4M3FN: 8,
    TensorProto.FLOAT8E4M3FNUZ: 8,
    TensorProto.FLOAT8E5M2: 8,
    TensorProto.FLOAT8E5M2FNUZ: 8,
    TensorProto.UINT4: 4,
    TensorProto.INT4: 4,
}
"""Types that constants may have."""
_FLOATS = (TensorProto.FLOAT, TensorProto.DOUBLE)
"""Those with a field of their own."""
_GRAPHS = (AttributeProto.GRAPH, AttributeProto.GRAPHS)


def tensors(proto: ModelProto, *, subgraphs: bool = False) -> Iterator[tuple[str, TensorProto]]:
    """Return constants with their places, initialisers first; of subgraphs of `If`, or of all."""
    yield from _tensors(proto.graph, subgraphs)


def _tensors(graph: GraphProto, subgraphs: bool) -> Iterator[tuple[str, TensorProto]]:
    for one in graph.initializer:
        yield f"tensor {quoted(one.name)}", one
    for node in graph.node:
        for attribute in node.attribute:
            where = f"{label(node)}, {quoted(attribute.name)}"
            if attribute.type in _GRAPHS or attribute.HasField("g") or attribute.graphs:
                if not subgraphs and (node.domain or node.op_type != "If"):  # that may be decided
                    raise ValueError(f"{where}: subgraphs are not supported")
                for subgraph in (
                    *([attribute.g] if attribute.HasField("g") else ()),
                    *attribute.graphs,
                ):
                    yield from _tensors(subgraph, subgraphs)
            if attribute.HasField("sparse_tensor") or attribute.sparse_tensors:
                raise ValueError(f"{where}: sparse tensors are not supported")
            yield from ((where, one) for one in attribute.tensors)
            if attribute.HasField("t"):
                yield where, attribute.t


_MAPPED = 1 << 16
"""Bytes of a constant that stays in its file until it is used."""


def fill(path: Path, where: str, tensor: TensorProto, *, mapped: bool = False) -> None:
    """Read a tensor of a file beside the model: its part of the file alone.

    Parameters
    ----------
    path : the model.
    where, tensor : of the model.
    mapped : a large one stays in its file, which is then named by its whole path; the file must
        stay, too.
    """
    if not uses_external_data(tensor):
        return
    facts = {one.key: one.value for one in tensor.external_data}
    name = PurePosixPath(facts.get("location", ""))
    if not name.parts or name.is_absolute() or ".." in name.parts or "\0" in str(name):
        raise ValueError(f"{where}: its file must be one in the model's folder, not {str(name)!r}")
    folder = path.parent.resolve()
    file = folder / name
    if not file.resolve().is_relative_to(folder):
        raise ValueError(
            f"{where}: its file must be one in the model's folder, not a link out of it"
        )
    numbers = [facts.get("offset", "0"), facts.get("length", "0")]
    if not all(text.isascii() and text.isdecimal() and len(text) < 20 for text in numbers):
        raise ValueError(f"{where}: offset and length must be bytes, not {', '.join(numbers)}")
    start, length = map(int, numbers)
    bits = BITS.get(tensor.data_type, 0)
    mapped = mapped and prod(tensor.dims) * bits >= 8 * _MAPPED and min(tensor.dims) > 0
    try:
        count = length if "length" in facts else None
        if mapped:
            _point(tensor, file.resolve(), start, part(file, start, count))
            return
        tensor.raw_data = read_part(file, start, count)
    except FileError:
        raise
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None
    tensor.data_location = TensorProto.DEFAULT
    del tensor.external_data[:]


def _point(tensor: TensorProto, file: Path, start: int, count: int) -> None:
    """Say where in a file a tensor is."""
    del tensor.external_data[:]
    for key, value in (("location", file), ("offset", start), ("length", count)):
        tensor.external_data.add(key=key, value=str(value))


def _bytes_of(tensor: TensorProto) -> int:
    """Return the bytes of a tensor that is in a file."""
    return int(next(one.value for one in tensor.external_data if one.key == "length"))


def array_of(tensor: TensorProto) -> np.ndarray:
    """Return the values of a constant: of one in a file, they are read where they are used."""
    if not uses_external_data(tensor):
        return numpy_helper.to_array(tensor)
    facts = {one.key: one.value for one in tensor.external_data}
    # Files have the least byte first, as all machines that numpy has wheels for.
    return np.memmap(
        facts["location"],
        tensor_dtype_to_np_dtype(tensor.data_type),
        "r",
        int(facts["offset"]),
        tuple(tensor.dims),
    )


def let_go(values: np.ndarray | None) -> None:
    """Give the memory of values in a file back until they are used again; of others nothing."""
    base: object = values
    while isinstance(base, np.ndarray):
        base = base.base
    if isinstance(base, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        base.madvise(mmap.MADV_DONTNEED)


def whole(proto: ModelProto) -> ModelProto:
    """Return a copy of a model that has all its constants inside."""
    copy = ModelProto()
    copy.CopyFrom(proto)
    for tensor in copy.graph.initializer:
        if uses_external_data(tensor):
            tensor.raw_data = array_of(tensor).tobytes()
            tensor.data_location = TensorProto.DEFAULT
            del tensor.external_data[:]
    return copy


def without_mapped(proto: ModelProto) -> tuple[ModelProto, dict[str, np.ndarray]]:
    """Return a model without the constants that are in files, and these."""
    mapped = {one.name: array_of(one) for one in proto.graph.initializer if uses_external_data(one)}
    if not mapped:
        return proto, {}
    copy = without_constants(proto)
    copy.graph.initializer.extend(one for one in proto.graph.initializer if one.name not in mapped)
    return copy, mapped


_LARGE = 1 << 12
"""Values of a constant that is no shape, and no other thing that types depend on."""


def outline(proto: ModelProto) -> ModelProto:
    """Return a model with inputs in place of its large constants, which types do not depend on.

    ONNX's checks take a copy of what they are given, of 2 GB at most.
    """
    copy = without_constants(proto)
    known = {one.name for one in copy.graph.input}
    for tensor in proto.graph.initializer:
        inside = not tensor.HasField("raw_data") and not uses_external_data(tensor)
        if prod(tensor.dims) < _LARGE or inside:
            copy.graph.initializer.append(tensor)
        elif tensor.name not in known:
            value = make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims)
            copy.graph.input.append(value)
    return copy


def without_constants(proto: ModelProto) -> ModelProto:
    """Return a copy of a model but for its constants, which may be large."""
    copy = ModelProto()
    for field, value in proto.ListFields():
        if field.name == "graph":
            for inner, content in value.ListFields():
                if inner.name != "initializer":
                    target = getattr(copy.graph, inner.name)
                    if inner.is_repeated:
                        target.extend(content)
                    else:
                        setattr(copy.graph, inner.name, content)
        elif field.is_repeated:
            getattr(copy, field.name).extend(value)
        else:
            setattr(copy, field.name, value)
    return copy


def check_tensor(where: str, tensor: TensorProto) -> None:
    """Refuse types that numpy lacks, and another number of values than the shape has."""
    kind = tensor.data_type
    bits = _CONSTANTS.get(kind)
    if bits is None:
        raise ValueError(f"{where} must be of numbers, not of {named(kind)}")
    if tensor.HasField("segment"):
        raise ValueError(f"{where}: segments are not supported")
    if any(size < 0 for size in tensor.dims):
        raise ValueError(f"{where}: sizes must be 0 or more, not {list(tensor.dims)}")
    count = prod(tensor.dims)
    if uses_external_data(tensor):
        actual, needed, what = _bytes_of(tensor), -(-count * bits // 8), "bytes"
    elif tensor.HasField("raw_data"):
        actual, needed, what = len(tensor.raw_data), -(-count * bits // 8), "bytes"
    else:
        values = getattr(tensor, tensor_dtype_to_field(kind))
        actual, what = len(values), "values"
        needed = -(-count * bits // 8) if bits < 8 else count
        # Of a type that is narrower than the field.
        low, high = _held(kind, bits)
        wrong = next((one for one in values if not low <= one <= high), None)
        if wrong is not None and bits < 64 and kind not in _FLOATS:
            raise ValueError(f"{where}: its values must be {low}..{high}, not {wrong}")
    if actual != needed:
        shape = " x ".join(map(str, tensor.dims)) or "a number"
        raise ValueError(f"{where}: must have {needed} {what}, as of {shape}, not {actual}")


def _held(kind: int, bits: int) -> tuple[int, int]:
    """Return the least and the greatest value in a field of a type: codes, or their bits."""
    if kind == TensorProto.BOOL:
        return 0, 1
    if kind in (TensorProto.INT8, TensorProto.INT16, TensorProto.INT32):
        return -1 << bits - 1, (1 << bits - 1) - 1
    return 0, (1 << max(bits, 8)) - 1


def named(kind: int) -> str:
    """Name an element type; unknown ones by number."""
    if kind not in TensorProto.DataType.values():
        return f"type {kind}"
    return TensorProto.DataType.Name(TensorProto.DataType.ValueType(kind))
