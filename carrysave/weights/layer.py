"""A layer's weights: tensors of a file to groups of codes, and back to the same tensors."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from carrysave.errors import ArgumentError, UsageError, check_choice
from carrysave.weights.request import PackRequest
from carrysave.weights.tensor_files import FLOATS, Tensor
from golden.formats.names import minifloat
from golden.lut.checkpoint import from_awq, from_gptq, to_awq, to_gptq
from golden.lut.quantise import QuantiseSpec, quantise
from golden.lut.weights import GroupedWeights, decode_scales, encode_scales
from hw.emit.user_files import shown

__all__ = [
    "check_finite",
    "from_checkpoint",
    "from_codes",
    "from_float",
    "to_checkpoint",
    "to_codes",
    "to_parts",
]

_OFFSETS = {"symmetric": 0, "asymmetric": 0, "odd": 0, "ternary": 1}
_MOST = 2.0**127
"""Largest magnitude of a weight; the sums of many are still numbers."""
_INTEGERS = ("bool", *(f"{sign}int{width}" for sign in ("", "u") for width in (8, 16, 32, 64)))
_CODED = ("fp16", "bf16", "fp32", "e8m0")


def from_float(tensor: Tensor, request: PackRequest) -> tuple[GroupedWeights, dict[str, Any]]:
    """Quantise floats."""
    scheme = request.scheme or "symmetric"
    spec = QuantiseSpec(
        scheme=scheme,
        bits=request.bits if request.bits is not None else 2 if scheme == "ternary" else 4,
        group=request.rows_per_scale,
        per_tensor=request.group == "tensor",
        scale_format=request.scales or "fp16",
    )
    values = request.turned(tensor.values())
    if not np.abs(values).max(initial=0) <= _MOST:
        raise UsageError(
            f"weights must be finite, not infinities or NaNs, and -{_MOST:g}..{_MOST:g}"
        )
    weights = quantise(spec, values)
    error = float(np.abs(weights.values() - values).max())
    return weights, {"rows": request.rows or "out", "scheme": scheme, "greatest_error": error}


def from_codes(
    members: Mapping[str, Tensor], request: PackRequest
) -> tuple[GroupedWeights, dict[str, Any]]:
    """Take codes, scales, groups x N, and zeros."""
    request.refuse("codes", "group")
    codes, scheme = members["codes"], request.scheme or "symmetric"
    if scheme not in _OFFSETS:
        raise ArgumentError(
            "{scheme} must be one of {legal} for codes, not {value!r}",
            legal=", ".join(_OFFSETS),
            value=scheme,
        )
    if codes.is_float or codes.array.ndim != 2 or not codes.array.size:
        raise UsageError("codes must be a matrix of integers, inputs and outputs 1 at least")
    if "scales" not in members or not members["scales"].is_float:
        raise UsageError("file must have scales, groups x N, of floats, beside codes")
    if (scheme == "asymmetric") != ("zeros" in members):
        raise ArgumentError("file must have zeros, groups x N, where {scheme} is asymmetric, only")
    bits, array = _codes(codes, request, scheme)
    given = members["scales"]
    name, values = _scales(given, request)
    scales = encode_scales(name, values)
    zeros = _zeros(members, scheme, bits, values)
    weights = GroupedWeights(
        codes=array,
        bits=bits,
        levels="uniform" if zeros is not None else scheme,
        group=-(-array.shape[0] // values.shape[0]),
        scale_format=name,
        scales=scales,
        zeros=zeros,
    )
    if not np.array_equal(weights.scale_values().to_odd(), values):
        raise ArgumentError("scales must be of {name}, without rounding; see {scales}", name=name)
    kinds = {name: members[name].array.dtype.name for name in ("codes", "zeros") if name in members}
    facts = {"rows": request.rows or "out", "scheme": scheme, "scales": given.format}
    return weights, {**facts, "integers": kinds}


def _codes(codes: Tensor, request: PackRequest, scheme: str) -> tuple[int, np.ndarray]:
    """Return bits of a code, and codes with inputs as rows, from 0."""
    if request.bits is None and scheme != "ternary":
        raise ArgumentError("{bits} must be given for codes, 1..8 bits")
    bits = request.bits if request.bits is not None else 2
    if not 1 <= bits <= 8:
        raise ArgumentError("{bits} must be 1..8 bits, not {value}", value=bits)
    if max(abs(int(code)) for code in _ends(codes.array)) > 255:
        raise UsageError("codes must be of 8 bits at most")
    array = request.turned(codes.array.astype(np.int64)) + _offset(scheme, bits)
    top = 2 if scheme == "ternary" else (1 << bits) - 1
    for worst in _ends(array):
        if not 0 <= worst <= top:
            least = -_offset(scheme, bits)
            raise ArgumentError(
                "codes must be {least}..{most} where {scheme} is {text}, not {value}",
                least=least,
                most=least + top,
                text=scheme,
                value=worst + least,
            )
    return bits, array


def _scales(given: Tensor, request: PackRequest) -> tuple[str, np.ndarray]:
    """Return the format of scales, and their values."""
    name = request.scales or given.format or "fp32"
    if name not in _CODED:
        raise ArgumentError(
            "{scales} must be one of {value} for codes, not {name!r}",
            value=", ".join(_CODED),
            name=name,
        )
    values = given.values()
    if values.ndim != 2 or not values.size:
        raise UsageError(f"scales must be groups x N, not {values.shape}")
    if not np.isfinite(values).all():
        raise UsageError("scales must be finite, not infinities or NaNs")
    return name, values


def _zeros(
    members: Mapping[str, Tensor], scheme: str, bits: int, values: np.ndarray
) -> np.ndarray | None:
    """Return zero points, one for each scale; None if the scheme has none."""
    if scheme == "symmetric":
        return np.full(values.shape, _offset(scheme, bits), dtype=np.int64)
    if scheme == "asymmetric":
        given_zeros = members["zeros"].array
        if members["zeros"].is_float or any(abs(int(z)) > 16000 for z in _ends(given_zeros)):
            raise UsageError("zeros must be integers, -16000..16000")
        return given_zeros.astype(np.int64)
    return None


def _ends(array: np.ndarray) -> tuple[Any, ...]:
    """Return the least and the greatest integer of an array, none of an empty one."""
    return (array.min(), array.max()) if array.size else ()


def _offset(scheme: str, bits: int) -> int:
    """Return the offset that makes codes non-negative."""
    return 1 << bits - 1 if scheme == "symmetric" else _OFFSETS[scheme]


def from_checkpoint(
    members: Mapping[str, Tensor], source: str, request: PackRequest
) -> tuple[GroupedWeights, dict[str, Any]]:
    """Take the tensors of GPTQ or AWQ."""
    request.refuse(source, "rows", "bits", "group", "scheme", "scales")
    if "scales" not in members:
        listed = ", ".join(map(shown, list(members)[:8]))
        raise UsageError(f"layer must have scales, not only {listed}")
    for part, tensor in members.items():
        if part in ("qweight", "qzeros", "g_idx") and tensor.is_float:
            raise UsageError(f"{part} must be integers, not floats")
    arrays = {name: tensor.array for name, tensor in members.items()}
    name = members["scales"].format or str(members["scales"].array.dtype)
    if source == "awq":
        weights, facts = from_awq(arrays, name), {}
    else:
        weights = from_gptq(arrays, name, v2=source == "gptq_v2")
        facts = {"g_idx": "g_idx" in members}
    check_finite(weights)
    return weights, facts


def check_finite(weights: GroupedWeights) -> None:
    """Refuse infinite scales and offsets, and NaNs, which some formats have codes for."""
    kinds = {
        "scales": weights.scale_format,
        "offsets": weights.scale_format,
        "column_scales": "fp32",
    }
    for name, kind in kinds.items():
        codes = getattr(weights, name)
        if codes is not None:
            values = decode_scales(kind, codes)
            if values.nan.any() or values.infinity.any():
                raise UsageError(f"{name} must be finite, not infinities or NaNs")


def to_checkpoint(weights: GroupedWeights, kind: str, g_idx: bool) -> dict[str, Tensor]:
    """Return the tensors of GPTQ or AWQ."""
    if kind == "awq":
        arrays = to_awq(weights)
    else:
        arrays = to_gptq(weights, v2=kind == "gptq_v2", g_idx=g_idx)
    tensors = {name: Tensor(array=array) for name, array in arrays.items()}
    tensors["scales"] = Tensor(array=arrays["scales"], format=weights.scale_format)
    return tensors


def to_codes(weights: GroupedWeights, source: Mapping[str, Any]) -> dict[str, Tensor]:
    """Return codes, scales and zeros as they were given."""
    scheme, kinds, scales = source["scheme"], source["integers"], source["scales"]
    check_choice("scheme", scheme, _OFFSETS)
    codes = weights.codes - _offset(scheme, weights.bits)
    turned = PackRequest(rows=source["rows"]).turned(codes)
    tensors = {"codes": Tensor(array=_as_given("codes", turned, kinds))}
    values = weights.scale_values().to_odd()
    if scales is None:
        tensors["scales"] = Tensor(array=values)
    else:
        check_choice("scales", scales, FLOATS)
        tensors["scales"] = Tensor(array=minifloat(scales).encode(values), format=scales)
    if "zeros" in kinds and weights.zeros is not None:
        tensors["zeros"] = Tensor(array=_as_given("zeros", weights.zeros, kinds))
    return tensors


def _as_given(name: str, array: np.ndarray, kinds: Mapping[str, str]) -> np.ndarray:
    """Return integers in the kind that the file had."""
    check_choice(f"integers of {name}", kinds[name], _INTEGERS)
    given = array.astype(kinds[name])
    if not np.array_equal(given, array):
        raise UsageError(f"{name} must be integers of {kinds[name]}, not beyond")
    return given


def to_parts(weights: GroupedWeights) -> dict[str, Tensor]:
    """Return codes, K x N, scales and related tensors."""
    fmt = weights.scale_format if weights.scale_format not in ("e8m0", "int8") else None
    tensors = {"codes": Tensor(array=weights.codes.astype(np.uint8))}
    for name in ("scales", "offsets"):
        array = getattr(weights, name)
        if array is not None:
            tensors[name] = Tensor(array=array if fmt else array.astype(np.uint8), format=fmt)
    if weights.zeros is not None:
        tensors["zeros"] = Tensor(array=weights.zeros.astype(np.int32))
    if weights.column_scales is not None:
        tensors["column_scales"] = Tensor(array=weights.column_scales, format="fp32")
    return tensors
