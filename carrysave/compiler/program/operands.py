"""Operands of products in a program's memory: as they are, moved, or known."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from carrysave.compiler.program.buffers import Buffer
from carrysave.compiler.program.image import Image

__all__ = ["Given", "Node", "Operand", "operand", "rows", "stride_of"]

Node = tuple[str, str]
"""Name and operator."""
Given = Sequence[tuple[np.ndarray | None, np.ndarray | None]]
"""Of an operand of each work: sources, or codes where these are None."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Operand:
    """An operand of some works: the first one's buffer, and the addresses of all."""

    buffer: Buffer
    addresses: list[int]


def operand(
    image: Image,
    node: Node,
    given: Given,
    side: str,
    beside: bool,
) -> Operand:
    """Place an operand of works: sources as they are or moved, or codes that are known.

    Parameters
    ----------
    given : sources, or codes where these are None.
    beside : matrices that are moved lie side by side, not one behind the other.
    """
    if given[0][0] is None:
        codes = [np.asarray(known, np.int64) for _, known in given]
        names = [known.tobytes() for known in codes]
        different = list(dict.fromkeys(names))
        whole = image.known(
            f"{node[0]}.{side}", np.concatenate([codes[names.index(one)] for one in different]), 8
        )
        m = len(codes[0])
        part = whole.part((0, m))
        addresses = [whole.address + different.index(one) * m * whole.stride for one in names]
        return Operand(buffer=part, addresses=addresses)
    sources = [one for one, _ in given if one is not None]
    buffer = rows(image, node, sources[0]) if stride_of(image, sources[0]) else None
    if buffer is not None:
        return Operand(buffer=buffer, addresses=[int(one[0, 0]) for one in sources])
    if all(np.array_equal(one, sources[0]) for one in sources):
        sources = sources[:1]
    (m, k), count = sources[0].shape, len(sources)
    wide = [_filled(image, one) for one in sources]
    each = wide[0].shape[1]
    codes_of_all = np.concatenate(wide, axis=1 if beside else 0)
    first = image.move(
        *node,
        codes_of_all.reshape(-1, 1),
        row=codes_of_all.shape[1],
        reason="codes of a matrix do not lie in rows",
    )
    stride = codes_of_all.shape[1]
    step = each if beside else m * each
    return Operand(
        buffer=Buffer(name=node[0], address=first, rows=m, columns=k, bits=8, stride=stride),
        addresses=[first + step * (at if count > 1 else 0) for at in range(len(given))],
    )


def rows(image: Image, node: Node, sources: np.ndarray) -> Buffer:
    """Return a buffer of a matrix of sources: as they are, or moved."""
    m, k = sources.shape
    if stride := stride_of(image, sources):
        first = int(sources[0, 0])
        return Buffer(name=node[0], address=first, rows=m, columns=k, bits=8, stride=stride)
    return operand(image, node, [(sources, None)], "a", True).buffer


def stride_of(image: Image, sources: np.ndarray) -> int:
    """Return the bytes from row to row of a matrix of sources; 0: it has to be moved."""
    m, k = sources.shape
    first = int(sources[0, 0])
    stride = int(sources[1, 0]) - first if m > 1 else image.stride(8, k)
    straight = first + stride * np.arange(m)[:, None] + np.arange(k)
    return stride if first >= 0 and stride >= k and np.array_equal(sources, straight) else 0


def _filled(image: Image, sources: np.ndarray) -> np.ndarray:
    """Return sources of rows in whole beats.

    What fills a row is not looked at: codes behind its last one, to need no record, if they are of
    the matrix, too; not what runners have there.
    """
    m, k = sources.shape
    wide = np.empty((m, image.stride(8, k)), np.int64)
    wide[:, :k] = sources
    more = sources[:, -1:] + 1 + np.arange(wide.shape[1] - k)
    codes = np.zeros(max(sources.max(), more.max(initial=0)) + 2, bool)
    codes[sources[sources >= 0]] = True
    known = image.constant(np.array(0))
    wide[:, k:] = np.where((sources[:, -1:] >= 0) & codes[np.maximum(more, -1)], more, known)
    return wide
