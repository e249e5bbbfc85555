"""Types of codes: integers down to 2 bits, which numpy has not by itself, and small floats."""

from typing import Any

import numpy as np

__all__ = ["is_small_float", "limits", "narrowest", "steps_apart"]

_SMALL = {"int4": (-8, 7), "uint4": (0, 15), "int2": (-2, 1), "uint2": (0, 3)}


def limits(kind: "np.dtype[Any]") -> tuple[int, int] | None:
    """Return the smallest and the largest code of a type; None: it is not of integers."""
    if kind.kind in "iu":
        info = np.iinfo(kind)
        return int(info.min), int(info.max)
    return _SMALL.get(kind.name)


def narrowest(values: np.ndarray) -> np.ndarray:
    """Return integers in the narrowest signed type of numpy that holds them."""
    low, high = int(values.min(initial=0)), int(values.max(initial=0))
    kinds = (np.int8, np.int16, np.int32, np.int64)
    kind = next(one for one in kinds if np.iinfo(one).min <= low and high <= np.iinfo(one).max)
    return values.astype(kind, copy=False)


def is_small_float(kind: "np.dtype[Any]") -> bool:
    """Return whether codes of a type are floats of 8 bits or fewer."""
    return kind.name.startswith(("float8", "float6", "float4"))


def steps_apart(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Count how many codes lie between those of two tensors of a type.

    Of floats: units in the last place of the largest one.
    """
    if one.dtype == np.float32:
        with np.errstate(all="ignore"):
            unit = np.spacing(np.abs(other).max(initial=np.finfo(np.float32).tiny))
            far = np.ceil(np.abs(one.astype(np.float64) - other) / unit)
        return np.asarray(np.nan_to_num(far, posinf=2.0**62), np.int64)
    if is_small_float(one.dtype):
        codes = [array.view(np.uint8).astype(np.int64) for array in (one, other)]
        # Sign and magnitude, in the order of their values.
        one, other = (np.where(code & 0x80, -(code & 0x7F), code) for code in codes)
    if np.array_equal(one, other):
        return np.zeros(one.shape, np.int64)
    kind = np.int16 if one.itemsize == other.itemsize == 1 else np.int64
    apart: np.ndarray = np.abs(one.astype(kind) - other.astype(kind))
    return apart
