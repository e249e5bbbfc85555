"""Fields of any width in bytes, and trits in bytes."""

import numpy as np

__all__ = ["TRITS", "pack_fields", "pack_trits", "trit_bytes", "unpack_fields", "unpack_trits"]

TRITS = {8: 5, 5: 3}
"""Trits per field, by the field's bits."""

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
    found = np.empty(count, dtype=np.int64)
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
        found[start : start + part] = packed.view("<i8").reshape(-1)
    return found


def trit_bytes(field: int) -> int:
    """Codes of a field that encode trits: 243 of 256, or 27 of 32."""
    return int(3 ** TRITS[field])


def pack_trits(weights: np.ndarray, field: int = 8) -> np.ndarray:
    """Return the codes of five (8 bits) or three (5 bits) weights each: sum of (w_i + 1) 3^i.

    Parameters
    ----------
    weights : -1, 0 and 1; zeros are appended up to a multiple.
    field : bits of a code, 8 or 5.
    """
    trits = TRITS[field]
    flat = np.asarray(weights, dtype=np.int64).reshape(-1)
    padded = np.pad(flat, (0, -flat.size % trits))
    return (padded.reshape(-1, trits) + 1) @ 3 ** np.arange(trits)


def unpack_trits(codes: np.ndarray, field: int = 8) -> np.ndarray:
    """Return the weights of codes; unused codes give zeros.

    The code is scaled to a fraction of 2^field, so that multiplying by 3 shifts its digits out at
    the top, the last weight's first: hardware needs no division.
    """
    trits, size = TRITS[field], trit_bytes(field)
    codes = np.asarray(codes, dtype=np.int64).reshape(-1)
    rest = -(-(codes << field) // size)
    weights = np.zeros((codes.size, trits), dtype=np.int64)
    for place in reversed(range(trits)):
        rest = 3 * rest
        weights[:, place] = (rest >> field) - 1
        rest &= (1 << field) - 1
    weights[codes >= size] = 0
    return weights.reshape(-1)
