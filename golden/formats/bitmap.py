"""Bytes stored without their zeros: a mask word, then the others, as AMD's AIE-ML reads them."""

import numpy as np

__all__ = ["CHUNK", "pack_bitmap", "unpack_bitmap"]

CHUNK = 32
"""Codes of a chunk, and bits of its mask."""

_WORD = 4


def pack_bitmap(codes: np.ndarray) -> bytes:
    """Store codes of 8 bits, in chunks of 32 one after the other.

    A chunk is its mask, 32 bits, the least byte first, whose bit i is 1 if code i is not 0; then
    the codes that are not 0, in their order; then zeros up to a multiple of 4 bytes. The layout is
    that of sparse weights of AMD's AIE-ML (UG1603).

    Parameters
    ----------
    codes : one axis, int8 or uint8; zeros are appended up to a multiple of 32.
    """
    raw = np.asarray(codes).view(np.uint8)
    parts = []
    for chunk in np.pad(raw, (0, -len(raw) % CHUNK)).reshape(-1, CHUNK):
        stored = chunk[chunk != 0]
        parts += [np.packbits(chunk != 0, bitorder="little"), stored]
        parts.append(np.zeros(-len(stored) % _WORD, np.uint8))
    return b"".join(part.tobytes() for part in parts)


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
        bits = np.unpackbits(raw[at : at + _WORD], bitorder="little")
        end = at + _WORD + int(bits.sum())
        if len(bits) < CHUNK or end > len(raw):
            raise ValueError(f"bytes of {count} codes must not end at {len(raw)}")
        stored = raw[at + _WORD : end]
        if not stored.all():
            raise ValueError(f"codes that a mask has must not be 0, as one at byte {at} is")
        codes[start : start + CHUNK][bits == 1] = stored
        at = end + -end % _WORD
    if at != len(raw):
        raise ValueError(f"bytes of {count} codes must be {at}, not {len(raw)}")
    if codes[count:].any():
        raise ValueError(f"codes beyond the last, {count}, must be 0")
    return codes[:count]
