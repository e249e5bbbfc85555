"""Quantisers of every type and opset, in numpy, for the host."""

from dataclasses import dataclass

import numpy as np
from onnx import TensorProto
from onnx.helper import tensor_dtype_to_np_dtype
from onnx.numpy_helper import saturate_cast
from onnx.reference.op_run import OpRun

from carrysave.compiler.graph.code_types import limits

__all__ = [
    "QUANTISERS",
    "DequantizeLinear",
    "DynamicQuantizeLinear",
    "QuantizeLinear",
    "along",
    "dynamic_codes",
]


@dataclass(frozen=True, kw_only=True)
class _Attributes:
    """Attributes of a node that quantises or dequantises, by ONNX's names and defaults."""

    axis: int = 1
    output_dtype: int = 0
    block_size: int = 0
    saturate: int = 1
    precision: int = 0


class QuantizeLinear(OpRun):
    """Quantises floats; the reference has no opsets before 19, and wraps what is far out."""

    op_domain = ""

    def _run(
        self, x: np.ndarray, scale: np.ndarray, zero: np.ndarray | None = None, **attributes: int
    ) -> tuple[np.ndarray]:
        node = _Attributes(**attributes)
        if zero is None:
            zero = np.zeros((), tensor_dtype_to_np_dtype(node.output_dtype or TensorProto.UINT8))
        if node.precision:
            x, scale = (one.astype(tensor_dtype_to_np_dtype(node.precision)) for one in (x, scale))
        scaled = x / along(scale, x.shape, node.axis, node.block_size)
        kind = zero.dtype
        ends = limits(kind)
        if ends is None:
            if not kind.name.startswith("float8"):  # then, and only then, ONNX adds it
                scaled = scaled + along(zero, x.shape, node.axis, node.block_size).astype(
                    scaled.dtype
                )
            return (saturate_cast(scaled, kind) if node.saturate else scaled.astype(kind),)
        shift = along(zero, x.shape, node.axis, node.block_size)
        if kind.itemsize <= 2 and scaled.dtype == np.float32:
            # Sums that float32 does not hold are beyond all limits of such codes.
            shift = shift.astype(np.float32)
        codes = np.asarray(np.rint(scaled) + shift)
        return (np.clip(codes, *ends, out=codes).astype(kind),)


class DequantizeLinear(OpRun):
    """Dequantises codes; likewise."""

    op_domain = ""

    def _run(
        self, x: np.ndarray, scale: np.ndarray, zero: np.ndarray | None = None, **attributes: int
    ) -> tuple[np.ndarray]:
        node = _Attributes(**attributes)
        kind = tensor_dtype_to_np_dtype(node.output_dtype) if node.output_dtype else scale.dtype
        steps = along(scale, x.shape, node.axis, node.block_size)
        if limits(x.dtype) is not None:
            codes = x.astype(np.int16 if x.dtype.itemsize == 1 else np.int64)
            if zero is not None and zero.any():
                codes = codes - along(zero, x.shape, node.axis, node.block_size).astype(codes.dtype)
        else:
            codes = x.astype(np.float32)
        return ((codes.astype(scale.dtype) * steps).astype(kind),)


class DynamicQuantizeLinear(OpRun):
    """Quantises floats by their range; the reference has another scale for zeros alone."""

    op_domain = ""

    def _run(self, x: np.ndarray) -> tuple[np.ndarray, ...]:
        return dynamic_codes(x)


QUANTISERS = (QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear)


def dynamic_codes(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Quantise floats by their range: return codes of uint8, scale, and zero point.

    Raises
    ------
    ValueError
        Values that are not finite.
    """
    if not np.isfinite(x).all():
        raise ValueError("the values to quantise must be finite")
    low, high = (np.float32(end(x, initial=0)) for end in (np.min, np.max))
    scale = (high - low) / np.float32(255) if high > low else np.float32(1)
    zero = np.rint(np.clip(-low / scale, 0, 255))
    codes = np.clip(np.rint(x / scale) + zero, 0, 255).astype(np.uint8)
    return codes, np.array(scale, np.float32), np.array(zero, np.uint8)


def along(values: np.ndarray, shape: tuple[int, ...], axis: int, block: int = 0) -> np.ndarray:
    """Broadcast scales or zero points to a shape; as floats, or wide integers.

    Parameters
    ----------
    values : one, or one for each place of the axis, or for each block.
    shape : of the codes.
    axis : along it.
    block : codes of the axis that share one; 0: no blocks.

    Raises
    ------
    ValueError
        Blocks that do not fit the shape.
    """
    values = values.astype(np.int64) if limits(values.dtype) is not None else values
    if block and values.ndim:
        legal = (*shape[:axis], -(-shape[axis] // block), *shape[axis % len(shape) + 1 :])
        if values.shape != legal or not block > 0:
            raise ValueError(f"blocks of {block} need scales of {legal}, not {values.shape}")
        return np.repeat(values, block, axis).take(range(shape[axis]), axis)
    if values.size == 1:
        return values.reshape(())
    sizes = [1] * len(shape)
    sizes[axis] = -1
    return values.reshape(sizes)
