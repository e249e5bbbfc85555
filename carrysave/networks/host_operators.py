"""Operators the ONNX reference lacks or gets wrong, in numpy, for the host."""

from typing import Any

import numpy as np
from onnx import TensorProto
from onnx.helper import tensor_dtype_to_np_dtype
from onnx.reference.op_run import OpRun

__all__ = ["DequantizeLinear", "DynamicQuantizeLinear", "GlobalMaxPool", "QuantizeLinear"]


class QuantizeLinear(OpRun):
    """Quantises floats; missing in the reference for opsets before 19."""

    op_domain = ""

    def _run(
        self,
        x: np.ndarray,
        scale: np.ndarray,
        zero: np.ndarray | None = None,
        *,
        axis: int = 1,
        output_dtype: int = 0,
        block_size: int = 0,
        **other: Any,
    ) -> tuple[np.ndarray]:
        _check_blocks(block_size)
        if zero is None:
            zero = np.zeros((), tensor_dtype_to_np_dtype(output_dtype or TensorProto.UINT8))
        limits = np.iinfo(zero.dtype)
        codes = np.rint(x / _along(scale, x, axis)) + _along(zero, x, axis)
        return (np.clip(codes, limits.min, limits.max).astype(zero.dtype),)


class DequantizeLinear(OpRun):
    """Dequantises codes; likewise."""

    op_domain = ""

    def _run(
        self,
        x: np.ndarray,
        scale: np.ndarray,
        zero: np.ndarray | None = None,
        *,
        axis: int = 1,
        block_size: int = 0,
        **other: Any,
    ) -> tuple[np.ndarray]:
        _check_blocks(block_size)
        codes = x.astype(np.int64) - (0 if zero is None else _along(zero, x, axis))
        return (codes.astype(scale.dtype) * _along(scale, x, axis),)


class DynamicQuantizeLinear(OpRun):
    """Quantises floats by their range; the reference has another scale for zeros alone."""

    op_domain = ""

    def _run(self, x: np.ndarray) -> tuple[np.ndarray, ...]:
        if not np.isfinite(x).all():
            raise ValueError("the values to quantise must be finite")
        low, high = (np.float32(end(x, initial=0)) for end in (np.min, np.max))
        scale = (high - low) / np.float32(255) if high > low else np.float32(1)
        zero = np.rint(np.clip(-low / scale, 0, 255))
        codes = np.clip(np.rint(x / scale) + zero, 0, 255).astype(np.uint8)
        return codes, np.array(scale, np.float32), np.array(zero, np.uint8)


class GlobalMaxPool(OpRun):
    """Maximum of each channel; the reference supports only two spatial axes."""

    op_domain = ""

    def _run(self, x: np.ndarray) -> tuple[np.ndarray]:
        return (x.max(axis=tuple(range(2, x.ndim)), keepdims=True),)


def _check_blocks(size: int) -> None:
    if size:
        raise ValueError("a scale for each block is not supported")


def _along(values: np.ndarray, x: np.ndarray, axis: int) -> np.ndarray:
    """Broadcast scales or zero points along an axis of x; as floats, or wide integers."""
    values = values if values.dtype.kind == "f" else values.astype(np.int64)
    if values.size == 1:
        return values.reshape(())
    shape = [1] * x.ndim
    shape[axis] = -1
    return values.reshape(shape)
