"""Weights as GPTQ and AWQ tools store them: int32 words of codes, scales, zero points."""

from collections.abc import Mapping

import numpy as np

from golden.lut.bits import pack_fields, unpack_fields
from golden.lut.weights import GroupedWeights

__all__ = ["FORMATS", "from_awq", "from_gptq", "grouping", "to_awq", "to_gptq"]

FORMATS = ("gptq", "gptq_v2", "awq")
_AWQ_BITS = 4
# Column of the eight of a word that each nibble holds, the lowest first.
_AWQ_ORDER = np.array([0, 2, 4, 6, 1, 3, 5, 7])
_GPTQ_BITS = (2, 3, 4, 8)
_KINDS = {"fp16": 16, "bf16": 16, "fp32": 32}


def from_gptq(
    tensors: Mapping[str, np.ndarray], scale_format: str, *, v2: bool = False
) -> GroupedWeights:
    """Read a layer as AutoGPTQ and GPTQModel store it, K inputs and N outputs.

    - qweight, int32, K * bits / 32 x N: of each column, the codes of its K rows side by side, the
      first in the lowest bits of the first word; codes of 3 bits cross from word to word.
    - qzeros, int32, groups x N * bits / 32: zero points, packed along a row in the same way;
      minus one, except in format v2 (``gptq_v2``). They are thus 1 .. 2^bits, or in v2
      0 .. 2^bits - 1.
    - scales, groups x N.
    - g_idx, int32, K, optional: the group of each row. If it does not ascend (act-order), the rows
      of a group are brought together, in their order.

    Bits are 2, 3, 4 or 8, as the shapes say. A weight is scale * (code - zero point).

    Parameters
    ----------
    tensors : by name; scales as bit patterns of `scale_format`.
    scale_format : fp16, bf16 or fp32.
    v2 : which rule for zero points.
    """
    words, zero_words = (_words(tensors, name) for name in ("qweight", "qzeros"))
    scales = _scales(tensors, scale_format)
    groups, columns = scales.shape
    bits = 32 * zero_words.shape[1] // columns
    if bits not in _GPTQ_BITS or zero_words.shape != (groups, columns * bits // 32):
        raise ValueError(
            f"qzeros must be {groups} x {columns} * bits / 32 with bits 2, 3, 4 or 8, "
            f"as scales are {groups} x {columns}, not {zero_words.shape}"
        )
    depth = 32 * words.shape[0] // bits
    if words.shape != (depth * bits // 32, columns) or not depth:
        raise ValueError(f"qweight must be K * {bits} / 32 x {columns}, not {words.shape}")
    rows, group = grouping(tensors.get("g_idx"), depth, groups)
    codes = unpack_fields(words.T.astype("<i4").tobytes(), bits, depth * columns)
    stored = unpack_fields(zero_words.astype("<i4").tobytes(), bits, groups * columns)
    codes = codes.reshape(columns, depth).T
    return GroupedWeights(
        codes=codes if rows is None else codes[rows],
        bits=bits,
        group=group,
        scale_format=scale_format,
        scales=scales,
        zeros=stored.reshape(groups, columns) + (not v2),
        rows=rows,
    )


def to_gptq(
    weights: GroupedWeights, *, v2: bool = False, g_idx: bool = False
) -> dict[str, np.ndarray]:
    """Return the tensors of :func:`from_gptq`; scales as bit patterns.

    Parameters
    ----------
    weights : uniform, of 2, 3, 4 or 8 bits, with a scale of fp16, bf16 or fp32 for each group.
    v2 : which rule for zero points.
    g_idx : write the groups of rows too; always done if rows are reordered.
    """
    zeros = _check(weights, _GPTQ_BITS) - (not v2)
    bits = weights.bits
    depth, columns = weights.codes.shape
    for name, count in (("K", depth), ("N", columns)):
        if count * bits % 32:
            raise ValueError(f"{name} * bits must be a multiple of 32, not {count} * {bits}")
    _in_range("zero points", zeros, bits)
    codes = weights.original(weights.codes)
    words = np.frombuffer(pack_fields(codes.T, bits), dtype="<i4")
    zero_words = np.frombuffer(pack_fields(zeros, bits), dtype="<i4")
    tensors = {
        "qweight": words.reshape(columns, -1).T.astype(np.int32),
        "qzeros": zero_words.reshape(weights.groups, -1).astype(np.int32),
        "scales": weights.scales,
    }
    if g_idx or weights.rows is not None:
        groups = np.arange(depth) // weights.group
        tensors["g_idx"] = weights.original(groups).astype(np.int32)
    return tensors


def from_awq(tensors: Mapping[str, np.ndarray], scale_format: str) -> GroupedWeights:
    """Read a layer as AutoAWQ's GEMM format stores it, K inputs and N outputs, four bits.

    - qweight, int32, K x N / 8: eight columns of a row in a word; its nibbles, the lowest first,
      hold columns 0, 2, 4, 6, 1, 3, 5 and 7.
    - qzeros, int32, groups x N / 8: zero points in the same order, without offset.
    - scales, groups x N.

    Parameters
    ----------
    tensors : by name; scales as bit patterns of `scale_format`.
    scale_format : fp16, bf16 or fp32.
    """
    words, zero_words = (_words(tensors, name) for name in ("qweight", "qzeros"))
    scales = _scales(tensors, scale_format)
    groups, columns = scales.shape
    for name, array, count in (("qweight", words, words.shape[0]), ("qzeros", zero_words, groups)):
        if array.shape != (count, columns // 8) or columns % 8 or not count:
            raise ValueError(f"{name} must be {count} x {columns} / 8, not {array.shape}")
    _, group = grouping(None, words.shape[0], groups)
    return GroupedWeights(
        codes=_nibbles(words),
        bits=_AWQ_BITS,
        group=group,
        scale_format=scale_format,
        scales=scales,
        zeros=_nibbles(zero_words),
    )


def to_awq(weights: GroupedWeights) -> dict[str, np.ndarray]:
    """Return the tensors of :func:`from_awq`; scales as bit patterns."""
    zeros = _check(weights, (_AWQ_BITS,))
    if weights.rows is not None:
        raise ValueError("rows must be in their order for AWQ")
    if zeros.shape[1] % 8:
        raise ValueError(f"N must be a multiple of 8, not {zeros.shape[1]}")
    _in_range("zero points", zeros, _AWQ_BITS)
    return {
        "qweight": _in_words(weights.codes),
        "qzeros": _in_words(zeros),
        "scales": weights.scales,
    }


def _nibbles(words: np.ndarray) -> np.ndarray:
    """Return the codes of rows of AWQ's words."""
    count = words.size * 8
    nibbles = unpack_fields(words.astype("<i4").tobytes(), _AWQ_BITS, count).reshape(-1, 8)
    codes = np.empty_like(nibbles)
    codes[:, _AWQ_ORDER] = nibbles
    return codes.reshape(words.shape[0], -1)


def _in_words(codes: np.ndarray) -> np.ndarray:
    """Return AWQ's words of rows of codes."""
    nibbles = codes.reshape(-1, 8)[:, _AWQ_ORDER]
    words = np.frombuffer(pack_fields(nibbles, _AWQ_BITS), dtype="<i4")
    return words.reshape(codes.shape[0], -1).astype(np.int32)


def _words(tensors: Mapping[str, np.ndarray], name: str) -> np.ndarray:
    """Return a tensor of words."""
    if name not in tensors:
        raise ValueError(f"tensors must have {name}, not only {', '.join(tensors)}")
    words = tensors[name]
    if words.dtype != np.int32 or words.ndim != 2:
        raise ValueError(f"{name} must be a matrix of int32, not {words.dtype} {words.shape}")
    return words


def _scales(tensors: Mapping[str, np.ndarray], scale_format: str) -> np.ndarray:
    """Return the codes of scales."""
    if scale_format not in _KINDS:
        raise ValueError(f"scales must be of {', '.join(_KINDS)}, not {scale_format}")
    if "scales" not in tensors:
        raise ValueError(f"tensors must have scales, not only {', '.join(tensors)}")
    scales = tensors["scales"].astype(np.int64)
    if scales.ndim != 2 or not scales.size:
        raise ValueError(f"scales must be groups x N, not {scales.shape}")
    return scales


def grouping(g_idx: np.ndarray | None, depth: int, groups: int) -> tuple[np.ndarray | None, int]:
    """Return the rows in the order of their groups, None if they are, and rows per group."""
    group = -(-depth // groups)
    if -(-depth // group) != groups:
        raise ValueError(f"groups must be those of {depth} rows in equal parts, not {groups}")
    expected = np.arange(depth) // group
    if g_idx is None or np.array_equal(g_idx, expected):
        return None, group
    if g_idx.shape != (depth,) or not np.array_equal(np.sort(g_idx), expected):
        raise ValueError(f"g_idx must put {group} of {depth} rows into each of {groups} groups")
    return np.argsort(g_idx, kind="stable").astype(np.int64), group


def _check(weights: GroupedWeights, bits: tuple[int, ...]) -> np.ndarray:
    """Return the zero points of weights that these formats can hold."""
    if weights.zeros is None or weights.bits not in bits or weights.scale_format not in _KINDS:
        raise ValueError(
            f"weights must be uniform, of {', '.join(map(str, bits))} bits, with scales of "
            f"{', '.join(_KINDS)}, not {weights.levels} of {weights.bits} bits with "
            f"{weights.scale_format}"
        )
    shape = (weights.groups, weights.codes.shape[1])
    if weights.zeros.shape != shape:
        raise ValueError(f"scales must be groups x N, {shape}, not {weights.zeros.shape}")
    return weights.zeros


def _in_range(name: str, codes: np.ndarray, bits: int) -> None:
    """Refuse what has no code."""
    if codes.min() < 0 or codes.max() >> bits:
        raise ValueError(
            f"{name} as stored must be 0..{(1 << bits) - 1}, not {codes.min()}.. {codes.max()}"
        )
