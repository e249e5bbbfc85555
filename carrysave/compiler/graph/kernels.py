"""A constant B of a node as the block takes it: kernels of convolutions, and their windows."""

from typing import Any

import numpy as np
from onnx import NodeProto, helper

from carrysave.compiler.graph.im2col import Windows
from carrysave.compiler.graph.patches import Transposed

__all__ = ["FLOAT_PRODUCTS", "TRANSPOSED", "Unsupported", "arranged", "attributes", "windows_of"]

FLOAT_PRODUCTS = ("MatMul", "Gemm", "Conv")
"""ONNX operators that are products in chosen formats, and in QDQ form."""


TRANSPOSED = "ConvTranspose"


class Unsupported(ValueError):
    """A quantised product that cannot be compiled; the text is the reason."""


def attributes(node: NodeProto) -> dict[str, Any]:
    """Return the attributes of a node, by name."""
    return {one.name: helper.get_attribute_value(one) for one in node.attribute}


def arranged(node: NodeProto, b: np.ndarray | None) -> tuple[np.ndarray | None, Windows | None]:
    """Arrange a constant B as K x N, or groups x K x N; and find the kernel's windows.

    Raises
    ------
    Unsupported
        A node whose layout is not supported.
    """
    values = attributes(node)
    if b is not None and not b.size:
        raise Unsupported("weights must not be empty")
    if "Conv" in node.op_type:
        if b is None:
            raise Unsupported("weights must be constants")
        return _transposed(values, b) if node.op_type == TRANSPOSED else _kernel(values, b)
    if b is None:
        if values.get("transB"):
            raise Unsupported("B that is computed must be K x N")
        return None, None
    turned = b.T if values.get("transB") else b
    if turned.ndim != 2:
        raise Unsupported(f"constant B must have 2 axes, not {turned.ndim}")
    return turned, None


def _kernel(values: dict[str, Any], kernel: np.ndarray) -> tuple[np.ndarray, Windows]:
    """Rearrange outputs x inputs x space to groups x K x N."""
    windows = _windows(values, kernel)
    outputs, inputs, *space = kernel.shape
    groups = values.get("group", 1)
    if groups < 1 or outputs % groups:
        raise Unsupported(f"group must divide {outputs}, not be {groups}")
    depth = inputs * int(np.prod(space))
    weights = kernel.reshape(groups, outputs // groups, depth).transpose(0, 2, 1)
    return weights, Windows(**windows)


def _transposed(values: dict[str, Any], kernel: np.ndarray) -> tuple[np.ndarray, Windows]:
    """Rearrange inputs x outputs x space to groups x K x N, where rows have patches of outputs."""
    geometry = _windows(values, kernel)
    axes = kernel.ndim - 2
    groups = values.get("group", 1)
    if groups < 1 or len(kernel) % groups:
        raise Unsupported(f"group must divide {len(kernel)}, not be {groups}")
    extra = tuple(values.get("output_padding", [0] * axes))
    shape = tuple(values["output_shape"])[-axes:] if "output_shape" in values else None
    for what, numbers, least in (("output_padding", extra, 0), ("output_shape", shape, 1)):
        legal = numbers is None or len(numbers) == axes
        if not legal or not all(least <= number <= _MOST for number in numbers or ()):
            raise Unsupported(f"{what} must be {axes} numbers, {least}..{_MOST}, not {numbers}")
    windows = Transposed(**geometry, extra=extra, shape=shape)
    return windows.arranged(kernel, groups), windows


def _windows(values: dict[str, Any], kernel: np.ndarray) -> dict[str, Any]:
    """Read the fields of :class:`Windows` for a kernel."""
    if kernel.ndim < 3:
        raise Unsupported(f"weights must have 3 axes or more, not {kernel.ndim}")
    return windows_of(values, list(kernel.shape[2:]))


def windows_of(values: dict[str, Any], space: list[int]) -> dict[str, Any]:
    """Read the fields of :class:`Windows` from a node's attributes.

    Parameters
    ----------
    values : by name.
    space : sizes of the kernel.
    """
    axes = len(space)
    automatic = values.get("auto_pad", b"NOTSET").decode()
    pads = tuple(values.get("pads", [0] * 2 * axes))
    if automatic == "VALID":
        pads = (0,) * 2 * axes
    same = automatic.startswith("SAME")
    strides, dilations = (tuple(values.get(key, [1] * axes)) for key in ("strides", "dilations"))
    for what, numbers, count, least in (
        ("kernel_shape", values.get("kernel_shape", space), axes, 1),
        ("strides", strides, axes, 1),
        ("dilations", dilations, axes, 1),
        ("pads", pads, 2 * axes, 0),
    ):
        if len(numbers) != count or not all(least <= number <= _MOST for number in numbers):
            raise Unsupported(f"{what} must be {count} numbers, {least}..{_MOST}, not {numbers}")
    if list(values.get("kernel_shape", space)) != space:
        raise Unsupported(f"kernel_shape must be {space}, as of the weights")
    return {
        "kernel": tuple(space),
        "strides": strides,
        "dilations": dilations,
        "pads": None if same else pads,
        "auto_pad": automatic if same else "NOTSET",
    }


_MOST = 1 << 20
"""Largest stride, dilation and pad of a convolution."""
