"""A layer's weights as a co-processor reads B: with zero points, masks, or without zeros."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from carrysave.driver import Number
from carrysave.errors import ArgumentError, UsageError, check_choice
from carrysave.weights.request import PackRequest
from carrysave.weights.sections import check_digest, part, relative_error, sectioned
from carrysave.weights.zero_points import zero_points
from golden.formats.bitmap import BlockSize, pack_image, unpack_image
from golden.formats.integer import IntFormat
from golden.formats.sparse import SparseFormat
from golden.lut.expander import MASKS, masked, pack_masked
from golden.lut.weights import GroupedWeights
from golden.soc.expander import expand_masked

__all__ = ["of_operand", "pack_operand", "unpack_operand"]

_NUMBERS = Number.of(4, 4, True), Number.of(8, 8, True)
"""Of codes in memory, the narrowest first."""
_BYTE = _NUMBERS[-1]
_PRUNED = {"1:4": "masks_1_4", "2:4": "masks_2_4"}
"""Kinds of words with masks, by what is left."""
_COLUMNS = 64
"""Of a block, if nothing is said."""


def of_operand(request: PackRequest) -> PackRequest | None:
    """Return how floats are rounded, if they are asked for as a co-processor reads B; else None."""
    if request.zeros:
        return replace(request, scheme=request.scheme or "asymmetric")
    if request.sparse or request.prune:
        return replace(request, bits=request.bits or _BYTE.bits, group=request.group or "column")
    return None


def pack_operand(
    weights: GroupedWeights,
    values: np.ndarray,
    request: PackRequest,
    file: str,
    source: Mapping[str, Any],
) -> tuple[bytes, dict[str, Any]]:
    """Lay out weights; return the image, and its manifest.

    Sections, each from a multiple of 64 bytes on: "codes"; "zeros", bytes, groups x N, where there
    are zero points; "scales", fp32, groups x N; "rows", 32 bits, if rows are in another order than
    the file's. Codes are rows of B, each in whole bytes: numbers of 4 or 8 bits, the fewest that
    hold them, with zero points; words of 64 bits of a mask and codes, pruned; or, without zeros, an
    image of :func:`golden.formats.bitmap.pack_image`.

    Parameters
    ----------
    weights : codes and scales.
    values : what they are to be, K x N.
    request : zeros, sparse or prune, and sizes of blocks.
    file : of the image.
    source : of the manifest.

    Raises
    ------
    ArgumentError, UsageError
        Weights that the form does not have, or options that do not go together.
    """
    request.refuse("operands of a co-processor", "layout", "fold", "beat")
    if request.zeros and (request.sparse or request.prune):
        raise ArgumentError("{zeros} is not for {sparse} and {prune}, which leave zeros out")
    if not request.sparse:
        request.refuse("rows of B, which are in no blocks", "columns", "depth")
    if weights.levels != "uniform":
        raise UsageError(f"weights must be codes less zero points, not {weights.levels}")
    numbers, step = weights.integers, _steps(weights)
    if request.prune:
        check_choice("prune", request.prune, ("1:4", "2:4", "4:8"))
        pruned = SparseFormat.parse(request.prune).prune(values.astype(np.float64))
        numbers = np.where(pruned != 0, numbers, 0)
    facts: dict[str, Any] = {"k": len(numbers), "n": numbers.shape[1], "group": weights.group}
    parts: dict[str, bytes]
    if request.zeros:
        parts, more = _with_zeros(numbers, weights.group)
    elif request.sparse:
        parts, more = _without_zeros(numbers, request)
    else:
        parts, more = _masked(numbers, str(request.prune))
    scales = np.broadcast_to(weights.scale_values().to_odd(), (weights.groups, numbers.shape[1]))
    parts["scales"] = scales.astype("<f4").tobytes()
    if weights.rows is not None:
        parts["rows"] = np.asarray(weights.rows).astype("<u4").tobytes()
    facts |= more | {"groups": weights.groups, "pruned": request.prune}
    facts["zero_weights"] = float(np.mean(numbers == 0))
    facts["relative_error"] = relative_error(numbers * step, values)
    return sectioned(parts, {"image": file, **facts, "source": dict(source)})


def _steps(weights: GroupedWeights) -> np.ndarray:
    """Return the scale of each weight, K x N."""
    scales = np.broadcast_to(
        weights.scale_values().to_odd(), (weights.groups, weights.codes.shape[1])
    )
    spread: np.ndarray = np.repeat(scales, weights.group, axis=0)[: len(weights.codes)]
    return spread


def _with_zeros(numbers: np.ndarray, group: int) -> tuple[dict[str, bytes], dict[str, Any]]:
    """Return codes of the fewest bits that zero points allow, and these."""
    for number in _NUMBERS:
        zeros = zero_points(numbers, number, group)
        if zeros is not None:
            codes = numbers + np.repeat(zeros, group, axis=0)[: len(numbers)]
            parts = {"codes": number.pack(codes).tobytes(), "zeros": _BYTE.pack(zeros).tobytes()}
            return parts, {"operand": "zeros", "bits": number.bits}
    raise UsageError("weights less zero points must be within 256 values in each group")


def _masked(numbers: np.ndarray, prune: str) -> tuple[dict[str, bytes], dict[str, Any]]:
    """Return rows of words of masks and codes."""
    if prune not in _PRUNED:
        legal = ", ".join(_PRUNED)
        raise ArgumentError(
            "{prune} must be one of {legal} without {sparse}, not {value}", legal=legal, value=prune
        )
    spec = masked(_PRUNED[prune], _BYTE.bits)
    words = pack_masked(_BYTE.check("weights", numbers), spec)
    facts = {"operand": spec.name, "bits": spec.width, "deep": spec.deep}
    return {"codes": words.astype("<u8").tobytes()}, facts


def _without_zeros(
    numbers: np.ndarray, request: PackRequest
) -> tuple[dict[str, bytes], dict[str, Any]]:
    """Return the image of blocks of bytes."""
    deep, wide = numbers.shape
    rows = deep if request.depth is None else request.depth
    columns = _COLUMNS if request.columns is None else request.columns
    if rows < 1 or columns < 1:
        raise ArgumentError("{depth} and {columns} must be 1 or more")
    codes = _BYTE.pack(_BYTE.check("weights", numbers))
    image = pack_image(codes, BlockSize(rows, min(columns, wide)))
    facts = {"operand": "bitmap", "bits": _BYTE.bits, "block": [rows, min(columns, wide)]}
    return {"codes": image}, facts


def unpack_operand(image: bytes, manifest: Mapping[str, Any]) -> np.ndarray:
    """Return the weights of an image, float32, K x N, in the file's order; ValueError: none."""
    check_digest(image, manifest)
    depth, columns, kind = manifest["k"], manifest["n"], manifest["operand"]
    codes = np.frombuffer(part(image, manifest, "codes"), np.uint8)
    number = next(one for one in _NUMBERS if one.bits == manifest["bits"])
    if kind == "bitmap":
        dense = unpack_image(codes, (depth, columns), BlockSize(*manifest["block"]))
        if dense is None:
            raise ValueError("the image of blocks, which is none")
        numbers = dense.view(np.int8).astype(np.int64)
    elif kind in MASKS:
        words = codes.view("<u8").reshape(-1, columns)
        spec = masked(kind, number.bits)
        numbers = expand_masked(words, spec, IntFormat(width=number.bits))[:depth]
    else:
        numbers = number.unpack(codes.reshape(depth, -1), columns).astype(np.int64)
        zeros = np.frombuffer(part(image, manifest, "zeros"), np.int8).reshape(-1, columns)
        numbers = numbers - np.repeat(zeros.astype(np.int64), manifest["group"], axis=0)[:depth]
    scales = np.frombuffer(part(image, manifest, "scales"), "<f4").reshape(-1, columns)
    made = (numbers * np.repeat(scales, manifest["group"], axis=0)[:depth]).astype(np.float32)
    if "rows" in manifest["sections"]:
        order = np.frombuffer(part(image, manifest, "rows"), "<u4")
        made[order] = made.copy()
    return made
