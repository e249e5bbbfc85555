"""A layer's weights as codes of a table, in the order in which a co-processor reads B.

Tables are NF4 of QLoRA (Dettmers et al., 2023), or clusters of the weights themselves, as in eDKM
(Cho et al., 2023), which trains with them; here they are of weights that are trained already.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from carrysave.errors import UsageError, check_choice
from carrysave.weights.request import PackRequest
from carrysave.weights.sections import check_digest, part, relative_error, sectioned
from carrysave.weights.tables import BOOKS, MOST, nearest, table_for
from carrysave.weights.tensor_files import Tensor
from golden.lut.expander import (
    CODEBOOKS,
    codes_of,
    expand,
    pack_codes,
    table_of,
    unpack_codes,
)

__all__ = ["pack_codebook", "unpack_codebook"]


def pack_codebook(
    tensor: Tensor, request: PackRequest, name: str, layer: str
) -> tuple[bytes, dict[str, Any]]:
    """Choose codes for weights; return the image, and its manifest.

    A group of inputs of an output has a scale, its largest magnitude / 127. Sections, each from a
    multiple of 64 bytes on: "codes", rows of words of :func:`golden.lut.expander.pack_codes`, a row
    in whole bytes, as a job takes B; "table", a byte for each code, two's complement; "scales",
    fp32, groups x N.

    Parameters
    ----------
    tensor : floats.
    request : which codebook, inputs per scale, and what rows are.
    name : of the files.
    layer : of the tensor.

    Raises
    ------
    ArgumentError, UsageError
        Another codebook, or weights that are none.
    """
    request.refuse("codebook", "bits", "scheme", "scales", "layout", "fold", "beat", "columns")
    request.refuse("codebook", "zeros", "sparse", "prune", "depth")
    book = str(request.codebook)
    check_choice("codebook", book, BOOKS)
    values = _matrix(tensor, request)
    depth, columns = values.shape
    rows = depth if request.group in ("column", "tensor") else request.rows_per_scale
    scales, spread = _scales(values, rows, whole=request.group == "tensor")
    units = np.divide(values, spread, out=np.zeros(values.shape), where=spread > 0)
    spec, table = BOOKS[book], table_for(book, units)
    numbers = expand(nearest(units, table), table)
    held = table_of(table, spec) if spec.mirrored else tuple(table.tolist())
    codes = codes_of(numbers, spec.numbers(held, MOST))
    made = numbers * spread
    parts = {
        "codes": _rows(pack_codes(codes, spec), spec.bits),
        "table": np.array(held, np.int8).tobytes(),
        "scales": scales.astype("<f4").tobytes(),
    }
    return sectioned(
        parts,
        {
            "image": f"{name}.bin",
            "k": depth,
            "n": columns,
            "codebook": spec.name,
            "bits": spec.bits,
            "deep": spec.deep,
            "table": list(held),
            "group": rows,
            "groups": len(scales),
            "relative_error": relative_error(made, values),
            "source": {"format": "float", "layer": layer, "rows": request.rows or "out"},
        },
    )


def _matrix(tensor: Tensor, request: PackRequest) -> np.ndarray:
    """Return weights, K x N; UsageError: they are none."""
    values = request.turned(tensor.values())
    if values.ndim != 2 or not values.size or not np.isfinite(values).all():
        raise UsageError("weights must be a matrix of finite floats")
    return values


def _scales(values: np.ndarray, rows: int, *, whole: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return a scale for each group of rows, float32, groups x N; and spread over its rows."""
    most = np.maximum.reduceat(np.abs(values), np.arange(0, len(values), rows), axis=0)
    if whole:
        most = np.full_like(most, most.max())
    scales = (most / MOST).astype(np.float32)
    return scales, np.repeat(scales, rows, axis=0)[: len(values)].astype(np.float64)


def unpack_codebook(image: bytes, manifest: Mapping[str, Any]) -> np.ndarray:
    """Return the weights of an image, float32, K x N; ValueError: it is none of this manifest."""
    check_digest(image, manifest)
    spec, depth, columns = CODEBOOKS[manifest["codebook"]], manifest["k"], manifest["n"]
    rows = -(-depth // spec.deep)
    raw = np.frombuffer(part(image, manifest, "codes"), np.uint8).reshape(rows, -1)
    if spec.bits < 8:
        places = np.arange(0, 8, spec.bits)
        words = (raw[:, :, None] >> places & spec.entries - 1).reshape(rows, -1)[:, :columns]
    else:
        words = np.ascontiguousarray(raw).view("<u8")
    table = np.frombuffer(part(image, manifest, "table"), np.int8).astype(np.int64)
    entries = np.array(spec.numbers(table.tolist(), MOST))
    numbers = expand(unpack_codes(words.astype(np.int64), spec)[:depth], entries)
    scales = np.frombuffer(part(image, manifest, "scales"), "<f4").reshape(-1, columns)
    return (numbers * np.repeat(scales, manifest["group"], axis=0)[:depth]).astype(np.float32)


def _rows(words: np.ndarray, bits: int) -> bytes:
    """Return rows of words as bytes, each row in whole bytes."""
    if bits >= 8:
        return words.astype("<u8").tobytes()
    each = 8 // bits
    filled = np.pad(words, ((0, 0), (0, -words.shape[1] % each)))
    parts = filled.reshape(len(words), -1, each) << bits * np.arange(each)
    return parts.sum(axis=2).astype(np.uint8).tobytes()
