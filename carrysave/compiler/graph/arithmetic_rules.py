"""How a processor does the float operators of ONNX."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from carrysave.compiler.graph.arithmetic import Numbers
from carrysave.compiler.graph.kernels import Unsupported
from carrysave.compiler.graph.pool_rules import max_pool, mean_pool
from carrysave.compiler.graph.resize_rule import resize

__all__ = ["RULES", "Rule"]

Given = Sequence[Any]
Known = Sequence[np.ndarray | None]
Rule = Callable[[Numbers, Given, Known, Mapping[str, Any]], Any]
"""Of a machine, inputs, those that are known, and attributes with the version."""

_SOFTMAX, _CLIP = 13, 11
"""Versions since which axes are those of today, and limits are inputs."""


def _single(what: str) -> Rule:
    return lambda m, x, known, values: m.one(what, x[0])


def _double(what: str) -> Rule:
    return lambda m, x, known, values: getattr(m, what)(x[0], x[1])


def _several(what: str) -> Rule:
    def rule(m: Numbers, x: Given, known: Known, values: Mapping[str, Any]) -> Any:
        result = x[0]
        for one in x[1:]:
            result = getattr(m, what)(result, one)
        return result

    return rule


def _power(m: Numbers, x: Given, known: Known, values: Mapping[str, Any]) -> Any:
    exponent = _number(known[1], "the exponent")
    if exponent == 0.5:
        return m.one("root", x[0])
    if exponent not in (1.0, 2.0, 3.0):
        raise Unsupported(f"the exponent must be 0.5, 1, 2 or 3, not {exponent}")
    result = x[0]
    for _ in range(int(exponent) - 1):
        result = m.multiply(result, x[0])
    return result


def _clip(m: Numbers, x: Given, known: Known, values: Mapping[str, Any]) -> Any:
    ends = [values.get("min"), values.get("max")]
    if values["version"] >= _CLIP:
        ends = [
            None if one is None else _number(one, "a limit") for one in (*known[1:], None, None)[:2]
        ]
        if any(a is None and b is not None for a, b in zip(known[1:], x[1:], strict=False)):
            raise Unsupported("limits must be constants")
    result = x[0]
    if ends[0] is not None:
        result = m.greatest(result, float(ends[0]))
    return result if ends[1] is None else m.least(result, float(ends[1]))


def _leaky(m: Numbers, x: Given, known: Known, values: Mapping[str, Any]) -> Any:
    slope = float(values.get("alpha", 0.01))
    less = m.multiply(m.least(x[0], 0.0), slope)
    return m.add(m.greatest(x[0], 0.0), less)


def _hard_sigmoid(m: Numbers, x: Any, slope: float, middle: float) -> Any:
    return m.greatest(m.least(m.add(m.multiply(x, slope), middle), 1.0), 0.0)


def _gelu(m: Numbers, x: Given, known: Known, values: Mapping[str, Any]) -> Any:
    if values.get("approximate", b"none") == b"tanh":
        cube = m.multiply(m.multiply(x[0], x[0]), x[0])
        inner = m.multiply(m.add(x[0], m.multiply(cube, 0.044715)), 0.7978845608028654)
        part = m.one("tanh", inner)
    else:
        part = m.one("erf", m.multiply(x[0], 0.7071067811865476))
    return m.multiply(m.multiply(x[0], 0.5), m.add(part, 1.0))


def _reduction(what: str | None) -> Rule:
    def rule(m: Numbers, x: Given, known: Known, values: Mapping[str, Any]) -> Any:
        rank = len(m.machine.shape(x[0]))
        axes = values.get("axes")
        if len(x) > 1 and x[1] is not None:
            if known[1] is None:
                raise Unsupported("axes must be constants")
            axes = known[1].reshape(-1).tolist()
        if not axes:
            if values.get("noop_with_empty_axes"):
                return x[0]
            axes = range(rank)
        axes = sorted(axis % rank for axis in axes)
        result = m.mean(x[0], axes) if what is None else m.machine.reduced(what, x[0], axes)
        if values.get("keepdims", 1):
            return result
        return m.machine.moved(result, lambda one: one.squeeze(tuple(axes)))

    return rule


def _softmax(m: Numbers, x: Given, known: Known, values: Mapping[str, Any]) -> Any:
    rank = len(m.machine.shape(x[0]))
    new = values["version"] >= _SOFTMAX
    axis = values.get("axis", -1 if new else 1) % rank
    if not new and axis != rank - 1:
        raise Unsupported(f"before opset {_SOFTMAX} the axis must be the last one, not {axis}")
    most = m.machine.reduced("greatest", x[0], [axis])
    powers = m.one("exp", m.subtract(x[0], most))
    return m.divide(powers, m.machine.reduced("sum", powers, [axis]))


def _layer_norm(m: Numbers, x: Given, known: Known, values: Mapping[str, Any]) -> Any:
    rank = len(m.machine.shape(x[0]))
    axes = range(values.get("axis", -1) % rank, rank)
    centred = m.subtract(x[0], m.mean(x[0], axes))
    spread = m.mean(m.multiply(centred, centred), axes)
    root = m.one("root", m.add(spread, float(values.get("epsilon", 1e-5))))
    result = m.multiply(m.divide(centred, root), x[1])
    return m.add(result, x[2]) if len(x) > 2 and x[2] is not None else result


def _batch_norm(m: Numbers, x: Given, known: Known, values: Mapping[str, Any]) -> Any:
    if any(one is None for one in known[1:5]) or values.get("training_mode"):
        raise Unsupported("scale, bias, mean and variance must be constants, and it must not train")
    scale, bias, mean, variance = (np.asarray(one, np.float32) for one in known[1:5])
    axes = [-1, *[1] * (len(m.machine.shape(x[0])) - 2)]
    factor = scale / np.sqrt(variance + np.float32(values.get("epsilon", 1e-5)))
    factor, more = factor.reshape(axes), (bias - mean * factor).reshape(axes)
    return m.add(m.multiply(x[0], m.machine.constant(factor)), m.machine.constant(more))


def _space(m: Numbers, x: Any) -> range:
    return range(2, len(m.machine.shape(x)))


def _number(values: np.ndarray | None, what: str) -> float:
    if values is None or values.size != 1:
        raise Unsupported(f"{what} must be a constant number")
    return float(values.reshape(()))


RULES: Mapping[str, Rule] = {
    "Abs": lambda m, x, known, values: m.greatest(x[0], m.multiply(x[0], -1.0)),
    "Add": _double("add"),
    "AveragePool": mean_pool,
    "BatchNormalization": _batch_norm,
    "Clip": _clip,
    "Div": _double("divide"),
    "Erf": _single("erf"),
    "Exp": _single("exp"),
    "Gelu": _gelu,
    "GlobalAveragePool": lambda m, x, known, values: m.mean(x[0], _space(m, x[0])),
    "GlobalMaxPool": lambda m, x, known, values: m.machine.reduced(
        "greatest", x[0], _space(m, x[0])
    ),
    "HardSigmoid": lambda m, x, known, values: _hard_sigmoid(
        m, x[0], float(values.get("alpha", 0.2)), float(values.get("beta", 0.5))
    ),
    "HardSwish": lambda m, x, known, values: m.multiply(x[0], _hard_sigmoid(m, x[0], 1 / 6, 0.5)),
    "LayerNormalization": _layer_norm,
    "LeakyRelu": _leaky,
    "Max": _several("greatest"),
    "MaxPool": max_pool,
    "Min": _several("least"),
    "Mul": _double("multiply"),
    "Neg": lambda m, x, known, values: m.multiply(x[0], -1.0),
    "PRelu": lambda m, x, known, values: m.add(
        m.greatest(x[0], 0.0), m.multiply(m.least(x[0], 0.0), x[1])
    ),
    "Pow": _power,
    "Reciprocal": lambda m, x, known, values: m.divide(1.0, x[0]),
    "ReduceMax": _reduction("greatest"),
    "ReduceMean": _reduction(None),
    "ReduceMin": _reduction("least"),
    "ReduceSum": _reduction("sum"),
    "Relu": lambda m, x, known, values: m.greatest(x[0], 0.0),
    "Resize": resize,
    "Sigmoid": _single("logistic"),
    "Softmax": _softmax,
    "Sqrt": _single("root"),
    "Sub": _double("subtract"),
    "Sum": _several("add"),
    "Tanh": _single("tanh"),
}
"""By operator."""
