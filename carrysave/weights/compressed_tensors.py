"""Weights as compressed-tensors stores them, scaled by channels, groups, blocks, or tensors."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from carrysave.errors import UsageError
from carrysave.weights.tensor_files import Tensor
from golden.lut.bits import unpack_fields
from golden.lut.checkpoint import grouping
from golden.lut.weights import GroupedWeights

__all__ = ["MEMBERS", "PACKED_BITS", "Scheme", "from_floats", "from_integers", "shape_of"]

MEMBERS = (
    "weight_packed",
    "weight_shape",
    "weight_scale",
    "weight_zero_point",
    "weight_g_idx",
)
"""Of a layer, beside ``weight`` in the formats that are not packed."""
PACKED_BITS = (4, 8)
_WORD = 32
_SCALES = ("fp16", "bf16", "fp32")


@dataclass(frozen=True, kw_only=True)
class Scheme:
    """How the weights of a layer are quantised.

    Members
    -------
    bits, floats : of a code; codes are floats of E4M3, else integers.
    strategy : what has a scale of its own: "tensor", "channel" (a row of outputs), "group" (so many
        inputs of a row), or "block" (of outputs x inputs).
    group, block : sizes; 0 and (0, 0) with the other strategies.
    symmetric : there are no zero points.
    reordered : inputs of a group are those of which ``weight_g_idx`` says so.
    """

    bits: int
    floats: bool
    strategy: str
    group: int = 0
    block: tuple[int, int] = (0, 0)
    symmetric: bool = True
    reordered: bool = False


def shape_of(members: Mapping[str, Tensor]) -> tuple[int, ...]:
    """Return outputs x inputs of a layer; of a wrong one a shape that no matrix has."""
    if "weight" in members:
        return members["weight"].array.shape
    shape = members.get("weight_shape")
    if shape is None or shape.is_float or shape.array.shape != (2,):
        return ()
    return tuple(int(one) for one in shape.array)


def from_integers(members: Mapping[str, Tensor], scheme: Scheme) -> GroupedWeights:
    """Read a layer of integers: ``scale * (code - zero point)``, both with a sign.

    - weight_packed, int32, outputs x ceil(inputs * bits / 32): codes plus 2^(bits - 1), of a row
      side by side, the first in the lowest bits; weight_shape has outputs and inputs. Or
    - weight, int8, outputs x inputs.
    - weight_scale: outputs x groups; outputs x 1, or one number, of other strategies.
    - weight_zero_point, if not symmetric: int8, as scales are; or, with packed codes, int32, packed
      down the columns in the same way.
    - weight_g_idx, int32, inputs: the group of each, if they are reordered; -1: they are not.

    Raises
    ------
    UsageError, ValueError
        Tensors that are not these.
    """
    bits, (outputs, inputs) = scheme.bits, shape_of(members)
    if not outputs or not inputs or min(outputs, inputs) < 1:
        raise UsageError(f"must have outputs and inputs, not {outputs} x {inputs}")
    middle = 1 << bits - 1
    if ("weight" in members) == ("weight_packed" in members):
        raise UsageError("must have either weight or weight_packed")
    if "weight_packed" in members:
        codes = _unpacked(members["weight_packed"], "weight_packed", bits, (outputs, inputs))
    else:
        codes = _bytes(members["weight"], "weight", bits, (outputs, inputs)) + middle
    group = inputs if scheme.strategy != "group" else min(scheme.group, inputs)
    groups = -(-inputs // group)
    scales = _spread(members, "weight_scale", scheme, (outputs, groups))
    zeros = np.full((outputs, groups), middle)
    if not scheme.symmetric:
        zeros = _zeros(members, scheme, (outputs, groups)) + middle
    elif "weight_zero_point" in members and members["weight_zero_point"].array.any():
        raise UsageError("weight_zero_point must be zeros where weights are symmetric")
    rows, _ = grouping(_order(members, scheme), inputs, groups)
    return GroupedWeights(
        codes=codes.T if rows is None else codes.T[rows],
        bits=bits,
        group=group,
        scale_format=str(members["weight_scale"].format),
        scales=scales.T,
        zeros=zeros.T,
        rows=rows,
    )


def from_floats(members: Mapping[str, Tensor], scheme: Scheme) -> np.ndarray:
    """Return the values of a layer of E4M3, outputs x inputs: weights times their scales."""
    weight = members["weight"]
    for name in ("weight_packed", "weight_shape", "weight_g_idx"):
        if name in members:
            raise UsageError(f"{name} must not be there where weights are floats")
    if weight.format != "e4m3" or weight.array.ndim != 2:
        raise UsageError(f"weight must be a matrix of F8_E4M3, not {weight.format or 'doubles'}")
    if "weight_zero_point" in members and members["weight_zero_point"].values().any():
        raise UsageError("weight_zero_point must be zeros where weights are symmetric")
    values = weight.values()
    outputs, inputs = values.shape
    if scheme.strategy == "block":
        (high, wide), scale = scheme.block, _scale(members)
        wanted = -(-outputs // high), -(-inputs // wide)
        if scale.array.shape != wanted:
            raise UsageError(f"weight_scale must be {wanted}, not {scale.array.shape}")
        spread = scale.values().repeat(high, axis=0).repeat(wide, axis=1)
        return np.asarray(values * spread[:outputs, :inputs])
    group = min(scheme.group, inputs) or inputs
    groups = -(-inputs // group)
    scales = _spread(members, "weight_scale", scheme, (outputs, groups), values=True)
    return np.asarray(values * scales.repeat(group, axis=1)[:, :inputs])


def _scale(members: Mapping[str, Tensor]) -> Tensor:
    """Return the scales."""
    scale = members.get("weight_scale")
    if scale is None or scale.format not in _SCALES:
        kind = "none" if scale is None else scale.format or scale.array.dtype
        raise UsageError(f"weight_scale must be of {', '.join(_SCALES)}, not {kind}")
    return scale


def _spread(
    members: Mapping[str, Tensor],
    name: str,
    scheme: Scheme,
    shape: tuple[int, int],
    *,
    values: bool = False,
) -> np.ndarray:
    """Return scales or zero points, outputs x groups, whatever shares them."""
    tensor = _scale(members) if name == "weight_scale" else members[name]
    array = tensor.values() if values else tensor.array.astype(np.int64)
    if scheme.strategy == "tensor" and array.size == 1:
        return np.full(shape, array.reshape(-1)[0])
    if array.shape != shape:
        raise UsageError(f"{name} must be {shape[0]} x {shape[1]}, not {array.shape}")
    return array


def _zeros(members: Mapping[str, Tensor], scheme: Scheme, shape: tuple[int, int]) -> np.ndarray:
    """Return zero points with a sign, outputs x groups."""
    name = "weight_zero_point"
    if name not in members:
        raise UsageError(f"{name} must be there where weights are not symmetric")
    tensor, middle = members[name], 1 << scheme.bits - 1
    if "weight_packed" in members and tensor.array.dtype == np.int32:
        turned = Tensor(array=tensor.array.T)
        return _unpacked(turned, name, scheme.bits, shape[::-1]).T - middle
    _bytes(tensor, name, scheme.bits, tensor.array.shape)
    return _spread(members, name, scheme, shape)


def _order(members: Mapping[str, Tensor], scheme: Scheme) -> np.ndarray | None:
    """Return the group of each input; None: one group is behind the other."""
    given = members.get("weight_g_idx")
    if given is None:
        if scheme.reordered:
            raise UsageError("weight_g_idx must be there where actorder is group")
        return None
    if given.is_float:
        raise UsageError("weight_g_idx must be integers, not floats")
    if (given.array == -1).any():
        return None
    if not scheme.reordered:
        raise UsageError("weight_g_idx must be -1 where actorder is not group")
    return given.array


def _bytes(tensor: Tensor, name: str, bits: int, shape: tuple[int, ...]) -> np.ndarray:
    """Return integers with a sign, one in a byte."""
    array, most = tensor.array, 1 << bits - 1
    if tensor.is_float or array.dtype != np.int8 or array.shape != shape:
        raise UsageError(f"{name} must be {shape} of int8, not {array.shape} of {array.dtype}")
    if array.min(initial=0) < -most or array.max(initial=0) >= most:
        raise UsageError(f"{name} must be {-most}..{most - 1}, not beyond")
    return array.astype(np.int64)


def _unpacked(tensor: Tensor, name: str, bits: int, shape: tuple[int, int]) -> np.ndarray:
    """Return the codes of words, from 0 on; the last word of a row may be filled up."""
    rows, columns = shape
    wanted = rows, -(-columns * bits // _WORD)
    words = tensor.array
    if words.dtype != np.int32 or words.shape != wanted:
        text = f"{wanted[0]} x {wanted[1]} of int32 for {bits} bits"
        raise UsageError(f"{name} must be {text}, not {words.shape} of {words.dtype}")
    data = np.ascontiguousarray(words, "<i4").tobytes()
    codes = unpack_fields(data, bits, words.size * _WORD // bits)
    return codes.reshape(rows, -1)[:, :columns]
