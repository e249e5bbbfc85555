"""Operators the ONNX reference lacks or gets wrong, in numpy, for the host."""

from math import ceil, floor
from typing import Any

import numpy as np
from onnx import NodeProto
from onnx.helper import tensor_dtype_to_np_dtype
from onnx.reference.op_run import OpRun
from onnx.reference.ops.op_max_pool import MaxPool as ReferencePool
from onnx.reference.ops.op_scatter_elements import ScatterElements

from carrysave.compiler.graph import host_quantisers
from carrysave.compiler.graph.bit_weights import BitWeights
from carrysave.compiler.graph.bnb4_weights import Bnb4Weights
from carrysave.compiler.graph.code_types import limits
from carrysave.compiler.graph.graph import MICROSOFT
from carrysave.compiler.graph.im2col import Windows
from carrysave.compiler.graph.kernels import attributes, windows_of
from golden.elementary import log, power
from golden.portable_product import product

__all__ = ["DRAWS", "EXACT", "OPERATORS"]


class GlobalMaxPool(OpRun):
    """Maximum of each channel; the reference supports only two spatial axes."""

    op_domain = ""

    def _run(self, x: np.ndarray) -> tuple[np.ndarray]:
        return (x.max(axis=tuple(range(2, x.ndim)), keepdims=True),)


class MaxPool(ReferencePool):
    """Maximum of windows, all at once; the reference goes through them one by one.

    That has those with indices, and those that reach beyond the padding.
    """

    op_domain = ""

    def _run(self, x: Any, **numbers: Any) -> Any:  # type: ignore[override]
        node: NodeProto = self.onnx_node
        if len([one for one in node.output if one]) > 1 or numbers.get("ceil_mode") or x.ndim < 3:
            return super()._run(x, **numbers)  # type: ignore[no-untyped-call]
        windows = Windows(**windows_of(attributes(node), list(numbers["kernel_shape"])))
        least = limits(x.dtype)
        seen = windows.cut(x, -np.inf if least is None else least[0])
        axes = len(windows.kernel)
        y = seen.max(axis=tuple(range(-axes, 0)))
        return (np.moveaxis(y, -1, 1),)


class GlobalLpPool(OpRun):
    """Norm of each channel; the reference has none."""

    op_domain = ""

    def _run(self, x: np.ndarray, *, p: int = 2) -> tuple[np.ndarray]:
        sums = power(np.abs(x), p).sum(axis=tuple(range(2, x.ndim)), keepdims=True)
        return (power(sums, 1 / p).astype(x.dtype),)


class MaxRoiPool(OpRun):
    """Maximum of each part of a region; the reference has none."""

    op_domain = ""

    def _run(
        self,
        x: np.ndarray,
        regions: np.ndarray,
        *,
        pooled_shape: Any = (),
        spatial_scale: float = 1.0,
    ) -> tuple[np.ndarray]:
        rows, columns = pooled_shape
        y = np.zeros((len(regions), x.shape[1], rows, columns), x.dtype)
        for number, (sample, *ends) in enumerate(regions):
            left, top, right, bottom = (_rounded(end * spatial_scale) for end in ends)
            down = _parts(top, bottom, rows, x.shape[2])
            across = _parts(left, right, columns, x.shape[3])
            for row, high in enumerate(down):
                for column, wide in enumerate(across):
                    part = x[int(sample), :, high, wide]
                    if part.size:
                        y[number, :, row, column] = part.max(axis=(1, 2))
        return (y,)


def _rounded(value: np.float32) -> int:
    """Round to the nearest integer, halves away from zero."""
    return int(np.copysign(np.floor(np.abs(value) + np.float32(0.5)), value))


def _parts(first: int, last: int, count: int, size: int) -> list[slice]:
    """Cut a range into parts, which share a number where it does not divide."""
    length = np.float32(max(last - first + 1, 1)) / np.float32(count)
    ends = ((floor(part * length), ceil((part + 1) * length)) for part in range(count))
    return [
        slice(*(min(max(end + first, 0), size) for end in (start, stop))) for start, stop in ends
    ]


class Multinomial(OpRun):
    """Draws classes by the logarithms of their weights; the reference has none."""

    op_domain = ""

    def _run(
        self, x: np.ndarray, *, dtype: int = 6, sample_size: int = 1, seed: float | None = None
    ) -> tuple[np.ndarray]:
        rng = np.random.default_rng(None if seed is None else int(np.float32(seed).view(np.uint32)))
        # The largest of logarithms plus Gumbel noise is a draw by their weights.
        noise = -log(-log(1 - rng.random((sample_size, *x.shape))))
        drawn = (x + noise).argmax(axis=-1).T
        return (drawn.astype(tensor_dtype_to_np_dtype(dtype)),)


class Scatter(ScatterElements):
    """Replaces elements: the name of ScatterElements before opset 11."""

    op_domain = ""


class MatMulNBits(OpRun):
    """Multiplies floats and weights in blocks; an operator of onnxruntime."""

    op_domain = MICROSOFT

    def _run(
        self,
        a: np.ndarray,
        codes: np.ndarray,
        steps: np.ndarray,
        zeros: np.ndarray | None = None,
        order: np.ndarray | None = None,
        bias: np.ndarray | None = None,
        **numbers: Any,
    ) -> tuple[np.ndarray]:
        if order is not None:
            raise ValueError("g_idx is not supported")
        y = _multiplied(a, BitWeights.read(codes, steps, zeros, numbers).floats)
        return ((y if bias is None else y + bias.astype(np.float32)).astype(a.dtype),)


class MatMulBnb4(OpRun):
    """Multiplies floats and weights of a table's codes; an operator of onnxruntime."""

    op_domain = MICROSOFT

    def _run(
        self, a: np.ndarray, codes: np.ndarray, most: np.ndarray, **numbers: Any
    ) -> tuple[np.ndarray]:
        return (_multiplied(a, Bnb4Weights.read(codes, most, numbers).floats).astype(a.dtype),)


def _multiplied(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Multiply rows of floats by a matrix."""
    rows = product(a.reshape(-1, a.shape[-1]).astype(np.float64), b.astype(np.float64))
    return rows.reshape(*a.shape[:-1], b.shape[-1]).astype(np.float32)


OPERATORS = (
    MatMulBnb4,
    MatMulNBits,
    host_quantisers.DequantizeLinear,
    GlobalLpPool,
    GlobalMaxPool,
    MaxPool,
    MaxRoiPool,
    Multinomial,
    Scatter,
)
"""Classes that implement the operators of their names."""

EXACT = frozenset((
    "QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear", "Multinomial",
    "MatMulInteger", "ConvInteger", "QLinearMatMul", "QLinearConv",
))  # fmt: skip
"""Operators that onnxruntime does not run for the host: those of codes, whose sums its kernels
saturate on some processors, and draws, which are the same again with the same seed.
"""

DRAWS = frozenset((
    "Bernoulli",
    "Multinomial",
    "RandomNormal",
    "RandomNormalLike",
    "RandomUniform",
    "RandomUniformLike",
    "Dropout",
))
"""Operators that draw numbers, or may: no constants come of them."""
