"""Layers of codes as tools of other people write them, number by number, from their formats.

Nothing here is of carrysave, but how a file has a tensor: codes are put into words by shifts of
Python's integers.
"""

from dataclasses import dataclass

import ml_dtypes
import numpy as np

from carrysave.weights.tensor_files import Tensor

__all__ = ["Codes", "awq", "codes_of", "compressed", "gptq", "words"]

_KINDS = {"fp16": np.float16, "bf16": ml_dtypes.bfloat16, "fp32": np.float32}
_AWQ = (0, 2, 4, 6, 1, 3, 5, 7)


@dataclass(frozen=True)
class Codes:
    """A matrix of codes from 0 on, outputs x inputs.

    Members
    -------
    codes, groups : of each weight; and of each input the group that it is of.
    scales, zeros : outputs x groups.
    bits, kind : of a code; of scales.
    """

    codes: np.ndarray
    groups: np.ndarray
    scales: np.ndarray
    zeros: np.ndarray
    bits: int
    kind: str

    def values(self) -> np.ndarray:
        """Return the weights."""
        scales = self.scales.astype(np.float64)[:, self.groups]
        return np.asarray(scales * (self.codes - self.zeros[:, self.groups]))

    def scale(self, array: np.ndarray) -> Tensor:
        """Return scales as a tensor of a file."""
        wide = np.uint32 if self.kind == "fp32" else np.uint16
        return Tensor(array=np.ascontiguousarray(array).view(wide), format=self.kind)


def codes_of(
    values: np.ndarray,
    bits: int,
    size: int,
    *,
    symmetric: bool = True,
    order: np.ndarray | None = None,
    least: int = 0,
    kind: str = "fp16",
) -> Codes:
    """Round weights to codes, each group of a row by itself.

    Parameters
    ----------
    size : inputs of a group.
    order : inputs in the order in which groups take them.
    least : of a zero point.
    """
    top, inputs = (1 << bits) - 1, values.shape[1]
    groups = np.empty(inputs, np.int64)
    groups[np.arange(inputs) if order is None else order] = np.arange(inputs) // size
    shape = len(values), -(-inputs // size)
    scales, zeros = np.empty(shape, _KINDS[kind]), np.empty(shape, np.int64)
    for group in range(shape[1]):
        part = values[:, groups == group].astype(np.float64)
        if symmetric:
            scales[:, group] = np.abs(part).max(axis=1) / (top // 2)
            zeros[:, group] = (top + 1) // 2
        else:
            low, high = part.min(axis=1), part.max(axis=1)
            scales[:, group] = (high - low) / top
            zeros[:, group] = np.clip(np.rint(-low * top / (high - low)), least, top)
    steps = scales.astype(np.float64)[:, groups]
    codes = np.clip(np.rint(values / steps) + zeros[:, groups], 0, top).astype(np.int64)
    return Codes(codes, groups, scales, zeros, bits, kind)


def words(numbers: np.ndarray, bits: int) -> list[int]:
    """Put numbers side by side, the first in the lowest bits, and cut them into words."""
    whole = sum(int(one) << bits * place for place, one in enumerate(numbers))
    count = -(-len(numbers) * bits // 32)
    cut = [whole >> 32 * place & 0xFFFFFFFF for place in range(count)]
    return [one - (1 << 32) if one >> 31 else one for one in cut]


def _columns(array: np.ndarray, bits: int) -> np.ndarray:
    """Pack each column, down."""
    return np.array([words(column, bits) for column in array.T], np.int32).T


def _rows(array: np.ndarray, bits: int) -> np.ndarray:
    """Pack each row, along."""
    return np.array([words(row, bits) for row in array], np.int32)


def gptq(codes: Codes, *, second: bool = False, g_idx: bool = True) -> dict[str, Tensor]:
    """Return the tensors of GPTQ: zero points less one, but in its second form."""
    stored = codes.zeros if second else codes.zeros - 1
    made = {
        "qweight": Tensor(array=_columns(codes.codes.T, codes.bits)),
        "qzeros": Tensor(array=_rows(stored.T, codes.bits)),
        "scales": codes.scale(codes.scales.T),
    }
    return {**made, **({"g_idx": Tensor(array=codes.groups.astype(np.int32))} if g_idx else {})}


def awq(codes: Codes) -> dict[str, Tensor]:
    """Return the tensors of AWQ: eight outputs in a word, in an order of their own."""

    def packed(array: np.ndarray) -> np.ndarray:
        mixed = array.reshape(len(array), -1, 8)[:, :, list(_AWQ)].reshape(array.shape)
        return _rows(mixed, 4)

    return {
        "qweight": Tensor(array=packed(codes.codes.T)),
        "qzeros": Tensor(array=packed(codes.zeros.T)),
        "scales": codes.scale(codes.scales.T),
    }


def compressed(codes: Codes, *, packed: bool, reordered: bool = False) -> dict[str, Tensor]:
    """Return the tensors of compressed-tensors: in words, or a byte each."""
    middle = 1 << codes.bits - 1
    made = {"weight_scale": codes.scale(codes.scales)}
    zeros = codes.zeros - middle
    if packed:
        made["weight_packed"] = Tensor(array=_rows(codes.codes, codes.bits))
        made["weight_shape"] = Tensor(array=np.array(codes.codes.shape))
        if zeros.any():
            made["weight_zero_point"] = Tensor(array=_columns(codes.zeros, codes.bits))
    else:
        made["weight"] = Tensor(array=(codes.codes - middle).astype(np.int8))
        made["weight_zero_point"] = Tensor(array=zeros.astype(np.int8))
    if reordered:
        made["weight_g_idx"] = Tensor(array=codes.groups.astype(np.int32))
    return made
