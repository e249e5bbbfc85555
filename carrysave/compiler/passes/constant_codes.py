"""Constant codes that are dequantised, and what moves or limits them in place of their floats."""

from dataclasses import dataclass, replace

import numpy as np
from onnx import NodeProto, helper

from carrysave.compiler.graph.code_types import limits
from carrysave.compiler.graph.host_quantisers import along
from carrysave.compiler.graph.kernels import attributes

__all__ = ["ConstantCodes", "along_one", "limited_codes", "turned"]


@dataclass(frozen=True)
class ConstantCodes:
    """Constant codes that are dequantised: with scales, zero points, their axis, and blocks."""

    codes: np.ndarray
    scale: np.ndarray
    zero: np.ndarray | None
    axis: int
    block: int
    node: NodeProto | None = None
    """What dequantises them, where the model has it."""

    @property
    def given(self) -> list[np.ndarray]:
        """Inputs of what dequantises them."""
        return [self.codes, self.scale, *([] if self.zero is None else [self.zero])]

    def dequantiser(self, inputs: list[str], output: str) -> NodeProto:
        """Return a node that dequantises them: the model's own, or one for moved codes."""
        if self.node is not None:
            return self.node
        made = helper.make_node("DequantizeLinear", inputs, [output], f"{output}/dequantise")
        if self.scale.size > 1 or self.block:
            made.attribute.append(helper.make_attribute("axis", self.axis))
        if self.block:
            made.attribute.append(helper.make_attribute("block_size", self.block))
        return made

    def grid(self, values: np.ndarray) -> np.ndarray:
        """Return a scale or zero point for each code, in its own type."""
        spread = along(values, self.codes.shape, self.axis).astype(values.dtype)
        return np.broadcast_to(spread, self.codes.shape)


def along_one(parts: list[np.ndarray], count: int) -> ConstantCodes | None:
    """Find the one axis along which scales and zero points change, after a move."""
    if len(parts) != count or not parts[0].size:
        return None
    codes, *grids = parts
    changing = [
        axis
        for axis in range(codes.ndim)
        if any((grid != grid.take([0], axis)).any() for grid in grids)
    ]
    if len(changing) > 1:
        return None
    rows = [grid.reshape(-1)[0] for grid in grids]
    if changing:
        (axis,) = changing
        first = tuple(slice(None) if at == axis else 0 for at in range(codes.ndim))
        rows = [grid[first] for grid in grids]
    zero = np.asarray(rows[1]) if len(rows) > 1 else None
    return ConstantCodes(codes, np.asarray(rows[0]), zero, changing[0] if changing else 1, 0)


def turned(node: NodeProto, before: ConstantCodes) -> ConstantCodes | None:
    """Transpose codes with a scale for each block."""
    if node.op_type == "Identity":
        return replace(before, node=None)
    if node.op_type != "Transpose":
        return None
    axes = before.codes.ndim
    turn = attributes(node).get("perm", list(range(axes))[::-1])
    axis = list(turn).index(before.axis % axes)
    zero = None if before.zero is None else before.zero.transpose(turn)
    return ConstantCodes(
        before.codes.transpose(turn), before.scale.transpose(turn), zero, axis, before.block
    )


def limited_codes(before: ConstantCodes, floats: np.ndarray) -> ConstantCodes | None:
    """Return the codes of floats by the same scales."""
    ends = limits(before.codes.dtype)
    if ends is None or before.block or floats.shape != before.codes.shape:
        return None
    zero = 0 if before.zero is None else before.grid(before.zero).astype(np.int64)
    with np.errstate(all="ignore"):
        codes = np.rint(floats / before.grid(before.scale)) + zero
    if not np.isfinite(codes).all():
        return None
    made = np.clip(codes, *ends).astype(before.codes.dtype)
    return ConstantCodes(made, before.scale, before.zero, before.axis, 0)
