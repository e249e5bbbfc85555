"""Float networks in JAX, which finds their slopes: the operators that fine-tuning takes."""

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from onnx import NodeProto

from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.graph.kernels import FLOAT_PRODUCTS, attributes, windows_of
from carrysave.compiler.graph.names import label

__all__ = ["Product", "forward", "unknown"]

Values = dict[str, Any]
"""Attributes of a node, by name."""
Product = Callable[[NodeProto, Any, Any], tuple[Any, Any]]
"""Takes the operands of a product, and returns those that are multiplied."""


def forward(
    graph: Graph, constants: Mapping[str, Any], inputs: Mapping[str, Any], product: Product
) -> list[Any]:
    """Return the outputs of a network.

    Parameters
    ----------
    graph : of operators that :func:`unknown` does not name.
    constants : all of the graph's, by name; those that slopes are of may be tracers.
    inputs : by name.
    product : of the operands of each MatMul, Gemm and Conv.
    """
    arrays = {**constants, **inputs}
    for node in graph.nodes:
        if node.op_type == "Constant":
            continue
        given = [arrays[name] if name else None for name in node.input]
        values = attributes(node)
        if node.op_type in FLOAT_PRODUCTS:
            a, b = product(node, given[0], given[1])
            made = _PRODUCTS[node.op_type](values, a, b, *given[2:])
        else:
            made = _OPERATORS[node.op_type](values, *given)
        arrays[node.output[0]] = made
    return [arrays[name] for name in graph.outputs]


def unknown(graph: Graph) -> str | None:
    """Name a node that cannot be computed here; None if all can."""
    for node in graph.nodes:
        known = node.op_type in (*_PRODUCTS, *_OPERATORS, "Constant")
        shaped = node.op_type != "Reshape" or node.input[1] in graph.constants
        if node.domain not in ("", "ai.onnx") or not known or not shaped:
            return label(node)
        if len([name for name in node.output if name]) != 1 or attributes(node).get("ceil_mode"):
            return label(node)
    return None


def _conv(values: Values, x: Any, kernel: Any, bias: Any = None) -> Any:
    windows = windows_of(values, list(kernel.shape[2:]))
    y = jax.lax.conv_general_dilated(
        x,
        kernel,
        windows["strides"],
        _padding(windows),
        rhs_dilation=windows["dilations"],
        feature_group_count=values.get("group", 1),
    )
    return y if bias is None else y + bias.reshape(-1, *[1] * (kernel.ndim - 2))


def _padding(windows: Values) -> Any:
    if windows["pads"] is None:
        return "SAME" if windows["auto_pad"] == "SAME_UPPER" else "SAME_LOWER"
    half = len(windows["pads"]) // 2
    return list(zip(windows["pads"][:half], windows["pads"][half:], strict=True))


def _gemm(values: Values, a: Any, b: Any, bias: Any = None) -> Any:
    a, b = (one.T if values.get(name) else one for one, name in ((a, "transA"), (b, "transB")))
    y = values.get("alpha", 1.0) * (a @ b)
    return y if bias is None else y + values.get("beta", 1.0) * bias


def _pool(values: Values, x: Any, first: float, add: Any) -> Any:
    space = values["kernel_shape"]
    windows = windows_of(values, list(space))
    padding = _padding(windows)
    if not isinstance(padding, str):
        padding = [(0, 0), (0, 0), *padding]
    return jax.lax.reduce_window(
        x,
        first,
        add,
        (1, 1, *space),
        (1, 1, *windows["strides"]),
        padding,
        window_dilation=(1, 1, *windows["dilations"]),
    )


def _average(values: Values, x: Any) -> Any:
    total = _pool(values, x, 0.0, jax.lax.add)
    if values.get("count_include_pad"):
        return total / int(np.prod(values["kernel_shape"]))
    return total / _pool(values, jnp.ones_like(x), 0.0, jax.lax.add)


def _normalised(values: Values, x: Any, gain: Any, offset: Any, mean: Any, power: Any) -> Any:
    shape = (1, -1, *[1] * (x.ndim - 2))
    by = gain / jnp.sqrt(power + values.get("epsilon", 1e-5))
    return x * by.reshape(shape) + (offset - mean * by).reshape(shape)


def _reshaped(values: Values, x: Any, shape: Any) -> Any:
    sizes = [int(size) for size in np.asarray(shape)]
    if not values.get("allowzero"):
        sizes = [size or x.shape[at] for at, size in enumerate(sizes)]
    return x.reshape(sizes)


def _flat(values: Values, x: Any) -> Any:
    axis = values.get("axis", 1) % (x.ndim + 1)
    return x.reshape(int(np.prod(x.shape[:axis])), -1)


def _hard(slope: float, x: Any, offset: float = 0.5) -> Any:
    return jnp.clip(slope * x + offset, 0, 1)


_PRODUCTS: Mapping[str, Callable[..., Any]] = {
    "Conv": _conv,
    "Gemm": _gemm,
    "MatMul": lambda _, a, b: a @ b,
}
_OPERATORS: Mapping[str, Callable[..., Any]] = {
    "Add": lambda _, x, y: x + y,
    "Sub": lambda _, x, y: x - y,
    "Mul": lambda _, x, y: x * y,
    "Div": lambda _, x, y: x / y,
    "Identity": lambda _, x: x,
    "Relu": lambda _, x: jax.nn.relu(x),
    "Sigmoid": lambda _, x: jax.nn.sigmoid(x),
    "Tanh": lambda _, x: jnp.tanh(x),
    "Erf": lambda _, x: jax.lax.erf(x),
    "LeakyRelu": lambda values, x: jnp.where(x < 0, values.get("alpha", 0.01) * x, x),
    "HardSigmoid": lambda values, x: _hard(values.get("alpha", 0.2), x, values.get("beta", 0.5)),
    "HardSwish": lambda _, x: x * _hard(1 / 6, x),
    "Clip": lambda values, x, low=None, high=None: jnp.clip(
        x, values.get("min", low), values.get("max", high)
    ),
    "Softmax": lambda values, x: jax.nn.softmax(x, axis=values.get("axis", -1)),
    "Concat": lambda values, *x: jnp.concatenate(x, axis=values["axis"]),
    "Transpose": lambda values, x: jnp.transpose(x, values.get("perm")),
    "Flatten": _flat,
    "Reshape": _reshaped,
    "BatchNormalization": _normalised,
    "MaxPool": lambda values, x: _pool(values, x, -jnp.inf, jax.lax.max),
    "AveragePool": _average,
    "GlobalAveragePool": lambda _, x: x.mean(axis=tuple(range(2, x.ndim)), keepdims=True),
}
