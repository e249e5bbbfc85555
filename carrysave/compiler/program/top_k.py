"""The greatest codes of rows, and their places, as jobs."""

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np
from onnx import NodeProto

from carrysave.compiler.graph.kernels import attributes
from carrysave.compiler.program.buffers import Buffer
from carrysave.compiler.program.copies import lay
from carrysave.compiler.program.image import Image
from carrysave.compiler.program.jobs import rows
from carrysave.compiler.program.looked import Looked
from carrysave.compiler.program.places import regular
from carrysave.compiler.program.row_jobs import are_few
from carrysave.compiler.target.target import Target
from carrysave.driver.system import Tensor
from golden.soc.lists import PLACE_BYTES, TOP_K, list_bytes, top_bytes

__all__ = ["finds_greatest", "top_k"]

_BYTES = np.int8, np.uint8
_LEAST, _GREATEST = 1e-30, 1e30
"""Ends of scales by which other codes are other floats."""


def finds_greatest(node: NodeProto, target: Target) -> bool:
    """Return whether an operator finds the greatest codes of rows, and the block has such jobs.

    Codes that are not sorted are in the order of the one who finds them, so they are the host's.
    """
    plain = not node.domain and node.op_type == "TopK" and len(node.input) == 2
    ways = (attributes(node).get(name, 1) for name in ("largest", "sorted"))
    return plain and target.spec.top_k > 0 and all(ways)


def top_k(
    image: Image, node: NodeProto, tensors: dict[str, Tensor], known: Mapping[str, np.ndarray]
) -> list[Tensor] | None:
    """Have jobs find the greatest codes along an axis; scales are positive, so floats go as these.

    Parameters
    ----------
    tensors, known : in memory, and constants, by name.

    Returns
    -------
    Codes, and places; None: there are no such jobs, and the host does it.
    """
    name, spec = node.name or node.output[0], image.target.spec
    lay(image, (name, node.op_type), tensors, node.input[:1])
    x, counts = tensors.get(node.input[0]), known.get(node.input[1])
    if x is None or counts is None or counts.size != 1 or not _ordered(x):
        return None
    count = int(counts.reshape(-1)[0])
    axis = attributes(node).get("axis", -1) % x.sources.ndim
    sources = np.moveaxis(x.sources, axis, -1)
    size, outer = sources.shape[-1], sources.shape[:-1]
    steps = regular(sources) if sources.size else None
    if steps is None or not 0 < count <= min(spec.top_k, size) or size > spec.lists:
        return None
    parts = _parts(sources[..., 0], size)
    if (size > 1 and steps[-1] != 1) or parts is None or not are_few(len(parts), sources.size):
        return None
    columns = top_bytes(count, 1)
    stride = image.stride(8, columns)
    made = image.reserve(name, prod(outer), columns, 8, stride=stride, lasting=False)
    done = 0
    for at, number, apart in parts:
        a = Buffer(name=name, address=at, rows=number, columns=size, bits=8, stride=apart)
        c = made.at(done, number)
        image.start(name, node.op_type, rows(image.target, TOP_K, a, c), macs=0)
        done += number
    firsts = made.address + made.stride * np.arange(done).reshape(*outer, 1)
    codes = firsts + list_bytes(count) + np.arange(count)
    places = firsts + PLACE_BYTES * np.arange(count)
    return [
        Tensor(np.moveaxis(codes, -1, axis), x.kind, x.offset, x.scale),
        Tensor(np.moveaxis(places, -1, axis), np.dtype(np.int64), 0),
    ]


def _ordered(x: Tensor) -> bool:
    """Return whether codes, of one byte each, have the order of what they stand for."""
    if x.kind not in _BYTES or isinstance(x, Looked) or not x.sources.ndim:
        return False
    return x.scale is None or _LEAST <= x.scale[0] <= _GREATEST


def _parts(firsts: np.ndarray, size: int) -> Sequence[tuple[int, int, int]] | None:
    """Return the first row of each job, its rows, and bytes between these; None: rows overlap.

    Parameters
    ----------
    firsts : addresses of the first codes of rows, which are even along each axis.
    size : bytes of a row.
    """
    order = firsts.reshape(-1)
    apart = np.diff(order)
    if not len(apart) or (apart == apart[0]).all():
        each = order[None]
    else:
        each = firsts.reshape(-1, firsts.shape[-1])
    stride = int(each[0, 1] - each[0, 0]) if each.shape[1] > 1 else size
    if stride < size:
        return None
    return [(int(one[0]), len(one), stride) for one in each]
