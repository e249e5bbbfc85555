"""Products of codes in exact integers: the judge where onnxruntime's own are not exact.

Without VNNI, onnxruntime's x86 kernels of unsigned times signed bytes add two products at a time in
16 bits, and saturate. A trial shows that, once; kernels of two operands of one type add in 32.
"""

from functools import cache

import numpy as np
from onnx import TensorProto, helper

from carrysave.compiler.graph.reference_runtime import session
from carrysave.compiler.lowered.gate import GateProduct
from carrysave.compiler.lowered.mean import MeanProduct
from carrysave.compiler.lowered.operands import Operands
from carrysave.compiler.lowered.quantised import QuantisedProduct, requantise
from carrysave.compiler.lowered.rights import bundled

__all__ = ["INTEGERS", "ONNXRUNTIME", "exact", "may_saturate", "saturates"]

ONNXRUNTIME, INTEGERS = "onnxruntime", "exact integers"
"""Judges of a product."""

_PAIR = (1 << 15) - 1


@cache
def saturates() -> bool:
    """Return whether onnxruntime's kernels saturate on this processor."""
    kinds = {"a": TensorProto.UINT8, "b": TensorProto.INT8}
    inputs = [helper.make_tensor_value_info(name, kind, [64, 64]) for name, kind in kinds.items()]
    output = helper.make_tensor_value_info("y", TensorProto.INT32, [64, 64])
    node = helper.make_node("MatMulInteger", ["a", "b"], ["y"])
    graph = helper.make_graph([node], "saturates", inputs, [output])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 10)], ir_version=8)
    a, b = np.full((64, 64), 255, np.uint8), np.full((64, 64), 127, np.int8)
    (sums,) = session(model.SerializeToString()).run(["y"], {"a": a, "b": b})
    return bool((sums != 64 * 255 * 127).any())


def may_saturate(product: Operands, a: np.ndarray, b: np.ndarray | None) -> bool:
    """Return whether onnxruntime's kernel may saturate for these operands, on this processor.

    Parameters
    ----------
    product : in the model.
    a, b : its codes; `b` is None if it is constant, and then its codes may be any.
    """
    if type(product) is not QuantisedProduct or product.operator == "ConvTranspose" or not a.size:
        return False  # of others onnxruntime has no such kernel
    if b is not None and b.dtype == a.dtype:
        return False
    widest = max(abs(int(a.min())), abs(int(a.max())))
    other = 128 if a.dtype == np.uint8 else 255
    return 2 * widest * other > _PAIR and saturates()


def exact(product: Operands, a: np.ndarray, b: np.ndarray | None) -> np.ndarray | None:
    """Compute y by the model's codes alone; None of what is no product of codes.

    Sums are doubles, and exact: they are integers far below 2^53. Codes are rounded as onnxruntime
    rounds them.

    Parameters
    ----------
    product : in the model.
    a, b : its codes; `b` is None if it is constant.
    """
    if not isinstance(product, QuantisedProduct):
        return None
    left = a.astype(np.float64) - product.a_zero
    scale = product.scale
    if isinstance(product, MeanProduct):
        assert scale is not None
        axes = tuple(range(2, a.ndim))
        sums = left.sum(axis=axes, keepdims=True)
        return _codes(product, sums, scale / np.float32(a.size // sums.size))
    if isinstance(product, GateProduct):
        assert b is not None
        return _codes(product, left * (b.astype(np.float64) - product.b_zero), scale)
    bias = 0 if product.bias is None else product.bias.astype(np.float64)
    if product.windows is None:
        left = left.T if product.transposed else left
        right = product.weights if b is None else b.astype(np.float64) - product.b_zero
        assert right is not None
        if product.outer:
            right = right.reshape(*product.outer, *right.shape[-2:])
        elif b is None and right.ndim == 3:
            right = bundled(right, len(right))[0]
        return _codes(product, left @ right.astype(np.float64) + bias, scale)
    assert product.weights is not None
    groups, depth, _ = product.weights.shape
    seen = product.windows.cut(left, 0)
    shape = seen.shape[: 1 + len(product.windows.kernel)]
    rows = np.moveaxis(seen.reshape(-1, groups, depth), 1, 0)
    sums = np.moveaxis(rows @ product.weights.astype(np.float64), 0, 1).reshape(*shape, -1)
    if (tiles := product.windows.tiles(a.shape[2:])) is not None:
        sums = np.moveaxis(tiles.placed(sums, groups), 1, -1)
    result = _codes(product, sums + bias, scale)
    return np.moveaxis(result, -1, 1)


def _codes(product: QuantisedProduct, sums: np.ndarray, scale: np.ndarray | None) -> np.ndarray:
    """Make y's codes of sums."""
    whole = sums.astype(np.int64)
    if scale is not None:
        whole = requantise(product, whole, scale)
    return whole.astype(product.y_type)
