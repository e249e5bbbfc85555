"""Bytes without their zeros: chunks of a mask and the others, as AMD's AIE-ML has them.

Of an image of its blocks, B is loaded as sparse, and computed as dense. Needs only numpy.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "CHUNK",
    "ENTRY_BYTES",
    "BlockSize",
    "image_bytes",
    "pack_bitmap",
    "pack_block",
    "pack_image",
    "unpack_bitmap",
    "unpack_block",
    "unpack_image",
]

Bytes = NDArray[np.uint8]

CHUNK = 32
"""Bytes of a row that share a mask, and bits of that."""
ENTRY_BYTES = 4
"""Bytes of an entry of the table of blocks, of a mask, and what all parts are multiples of."""
_RAW, _UNKNOWN = 1, 2


def pack_bitmap(codes: np.ndarray) -> bytes:
    """Store codes of 8 bits, in chunks of 32 one after the other.

    A chunk is its mask, 32 bits, the least byte first, whose bit i is 1 if code i is not 0; then
    the codes that are not 0, in their order; then zeros up to a multiple of 4 bytes. The layout is
    that of sparse weights of AMD's AIE-ML (UG1603).

    Parameters
    ----------
    codes : one axis, int8 or uint8; zeros are appended up to a multiple of 32.
    """
    return _chunks(np.asarray(codes).view(np.uint8)[None], ENTRY_BYTES)


def unpack_bitmap(data: bytes, count: int) -> np.ndarray:
    """Return the first `count` codes, uint8.

    Raises
    ------
    ValueError
        The bytes end before their last code, or after it; or a code that the mask says is there is
        0, or one behind the last is not.
    """
    raw = np.frombuffer(data, np.uint8)
    codes = np.zeros(count + -count % CHUNK, np.uint8)
    at = 0
    for start in range(0, len(codes), CHUNK):
        bits = np.unpackbits(raw[at : at + ENTRY_BYTES], bitorder="little")
        end = at + ENTRY_BYTES + int(bits.sum())
        if len(bits) < CHUNK or end > len(raw):
            raise ValueError(f"bytes of {count} codes must not end at {len(raw)}")
        stored = raw[at + ENTRY_BYTES : end]
        if not stored.all():
            raise ValueError(f"codes that a mask has must not be 0, as one at byte {at} is")
        codes[start : start + CHUNK][bits == 1] = stored
        at = end + -end % ENTRY_BYTES
    if at != len(raw):
        raise ValueError(f"bytes of {count} codes must be {at}, not {len(raw)}")
    if codes[count:].any():
        raise ValueError(f"codes beyond the last, {count}, must be 0")
    return codes[:count]


class BlockSize(NamedTuple):
    """A block of B: rows, and bytes of each; those at the ends of B may have fewer."""

    rows: int
    bytes: int


def pack_block(rows: Bytes, *, raw: bool = False) -> bytes:
    """Pack the rows of a block: chunks of a mask and what it marks; or, raw, rows as they are.

    A row begins with a chunk, and its last chunk may be shorter. The mask has a bit for each byte
    of the chunk, the lowest for the first one; the bytes that are not zero follow, and the next
    chunk. Behind the last row, raw or not, are zeros up to a multiple of four.

    Parameters
    ----------
    rows : R x bytes.
    raw : no masks, for rows that have few zeros.

    Notes
    -----
    The layout of a chunk is that of the sparse tiles of AMD's AIE-ML (UG1603, AM020), which have
    zeros behind each one. Loaded as sparse, computed as dense: Flash-LLM (Xia et al. 2023).
    """
    data = rows.tobytes() if raw else _chunks(rows, 1)
    return data + bytes(-len(data) % ENTRY_BYTES)


def _chunks(rows: Bytes, align: int) -> bytes:
    """Pack rows in chunks, each of a multiple of some bytes."""
    chunks = np.pad(rows, ((0, 0), (0, -rows.shape[1] % CHUNK))).reshape(-1, CHUNK)
    there = chunks != 0
    # What is stored comes first, in its order, and zeros behind it.
    stored = np.take_along_axis(chunks, np.argsort(~there, axis=1, kind="stable"), axis=1)
    count = there.sum(axis=1)
    used = ENTRY_BYTES + count + -count % align
    parts = np.hstack([np.packbits(there, axis=1, bitorder="little"), stored])
    return parts[np.arange(parts.shape[1]) < used[:, None]].tobytes()


def unpack_block(packed: Bytes, size: BlockSize, *, raw: bool = False) -> Bytes | None:
    """Return the rows of a block; None if they take more or fewer bytes than there are.

    Bits of a mask beyond the end of a row mark nothing: no bytes follow for them.
    """
    rows, at = np.zeros(size, np.uint8), 0
    for row in rows:
        for start in range(0, size.bytes, size.bytes if raw else CHUNK):
            chunk = row[start:] if raw else row[start : start + CHUNK]
            marked = np.ones(len(chunk), bool)
            if not raw:
                bits = np.unpackbits(packed[at : at + ENTRY_BYTES], bitorder="little")
                if len(bits) < CHUNK:
                    return None
                marked, at = bits[: len(chunk)] != 0, at + ENTRY_BYTES
            count = int(marked.sum())
            if at + count > len(packed):
                return None
            chunk[marked] = packed[at : at + count]
            at += count
    return rows if at + -at % ENTRY_BYTES == len(packed) else None


def pack_image(rows: Bytes, size: BlockSize, *, most: int = (1 << 32) - 1) -> bytes:
    """Pack a matrix of bytes in blocks, behind a table of where each one begins.

    Blocks go down K first, then across. The table has an entry of 32 bits for each, and one for the
    end: bytes from the begin of the image, a multiple of four; plus 1 if the block is raw, which it
    is where masks would make it longer. A block of zeros has no bytes.

    Parameters
    ----------
    rows : K x bytes of a row of B.
    size : of a block.
    most : bytes that a block may take.

    Raises
    ------
    ValueError
        A block takes more, whatever is done, as blocks with rows of a few bytes can.
    """
    deep, wide = rows.shape
    blocks = list[tuple[bytes, bool]]()
    sizes = _block_bytes(rows, size)
    _check_blocks(sizes, rows.shape, size, most)
    for across, left in enumerate(range(0, wide, size.bytes)):
        for down, top in enumerate(range(0, deep, size.rows)):
            block = rows[top : top + size.rows, left : left + size.bytes]
            masked, whole = sizes[:, across, down]
            raw = bool(whole < masked)
            blocks.append((pack_block(block, raw=raw) if masked else b"", raw))
    at = ENTRY_BYTES * (len(blocks) + 1)
    entries = []
    for packed, raw in blocks:
        entries.append(at + raw * _RAW)
        at += len(packed)
    table = np.array([*entries, at], "<u4").tobytes()
    return table + b"".join(packed for packed, _ in blocks)


def image_bytes(rows: Bytes, size: BlockSize, *, most: int = (1 << 32) - 1) -> int:
    """Return the bytes of :func:`pack_image`, which are counted, not made; it takes the same."""
    sizes = _block_bytes(rows, size)
    _check_blocks(sizes, rows.shape, size, most)
    each = sizes.min(axis=0)
    return int(each.sum()) + ENTRY_BYTES * (each.size + 1)


def _block_bytes(rows: Bytes, size: BlockSize) -> NDArray[np.int64]:
    """Return the bytes of blocks, 2 x across x down: with masks, none of zeros; and without."""
    tops, made = range(0, len(rows), size.rows), list[np.ndarray]()
    for left in range(0, rows.shape[1], size.bytes):
        there = rows[:, left : left + size.bytes] != 0
        wide = there.shape[1]
        counts = np.add.reduceat(there, range(0, wide, CHUNK), axis=1, dtype=np.int64)
        stored = np.add.reduceat(counts.sum(axis=1), tops)
        deep = np.diff([*tops, len(rows)])
        each = np.stack([stored + ENTRY_BYTES * counts.shape[1] * deep, wide * deep])
        made.append(np.where(stored, each + -each % ENTRY_BYTES, [[0], [ENTRY_BYTES]]))
    return np.stack(made, axis=1)


def _check_blocks(
    sizes: NDArray[np.int64], shape: tuple[int, ...], size: BlockSize, most: int
) -> None:
    """Refuse blocks that are longer, whatever is done."""
    longest = int(sizes.min(axis=0).max())
    if longest > most:
        block = min(size.rows, shape[0]), min(size.bytes, shape[1])
        raise ValueError(
            f"block of {block[0]} rows of {block[1]} bytes must take {most}"
            f" bytes or fewer, not {longest}: choose wider blocks"
        )


def unpack_image(
    image: Bytes, shape: tuple[int, int], size: BlockSize, *, most: int = (1 << 32) - 1
) -> Bytes | None:
    """Return a matrix of bytes of its image; None if the table, or a block, is none.

    No byte beyond the image is read: an entry, or where one points to, that is beyond it is an
    error, and so is an end before a begin, a block of more than `most` bytes, and bit 1 of an
    entry.
    """
    deep, wide = shape
    rows, number = np.zeros(shape, np.uint8), 0
    for left in range(0, wide, size.bytes):
        for top in range(0, deep, size.rows):
            at = ENTRY_BYTES * number
            entries = image[at : at + 2 * ENTRY_BYTES]
            if len(entries) < 2 * ENTRY_BYTES:
                return None
            first, last = (int(entry) for entry in entries.view("<u4"))
            flags, first, last = first % ENTRY_BYTES, first & -ENTRY_BYTES, last & -ENTRY_BYTES
            if flags & _UNKNOWN or not first <= last <= len(image) or last - first > most:
                return None
            block = rows[top : top + size.rows, left : left + size.bytes]
            if first < last:
                packed, raw = image[first:last], bool(flags & _RAW)
                dense = unpack_block(packed, BlockSize(*block.shape), raw=raw)
                if dense is None:
                    return None
                block[:] = dense
            number += 1
    return rows
