"""Fields of any width in bytes."""

import numpy as np

__all__ = ["pack_fields", "unpack_fields"]

_FIELDS = 1 << 16


def pack_fields(fields: np.ndarray, width: int) -> bytes:
    """Put integers, modulo 2^width, side by side: the first in the lowest bits of the first byte.

    Parameters
    ----------
    fields : integers, of any shape, in C order.
    width : bits of each, 1..64.
    """
    patterns = np.ascontiguousarray(fields, dtype="<i8").reshape(-1)
    raw = patterns.view(np.uint8).reshape(-1, 8)
    bits = np.unpackbits(raw, axis=1, count=width, bitorder="little")
    return np.packbits(bits.reshape(-1), bitorder="little").tobytes()


def unpack_fields(data: bytes, width: int, count: int, *, signed: bool = False) -> np.ndarray:
    """Return `count` integers that :func:`pack_fields` has packed, int64."""
    if not 1 <= width <= 64:
        raise ValueError(f"width must be 1..64 bits, not {width!r}")
    if len(data) < -(-count * width // 8):
        raise ValueError(f"data must be {-(-count * width // 8)} bytes, not {len(data)}")
    fields = np.empty(count, dtype=np.int64)
    raw = np.frombuffer(data, dtype=np.uint8)
    # Parts begin at bytes; a byte for each bit of 64 takes much memory, if only for a moment.
    for start in range(0, count, _FIELDS):
        part = min(count - start, _FIELDS)
        bits = np.unpackbits(raw[start * width // 8 :], count=part * width, bitorder="little")
        padded = np.zeros((part, 64), dtype=np.uint8)
        padded[:, :width] = bits.reshape(part, width)
        if signed:
            padded[:, width:] = padded[:, width - 1 : width]
        packed = np.packbits(padded, axis=1, bitorder="little")
        fields[start : start + part] = packed.view("<i8").reshape(-1)
    return fields
