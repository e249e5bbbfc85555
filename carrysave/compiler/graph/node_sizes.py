"""How large the outputs of an operator will be, from what it is given."""

from collections.abc import Mapping, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np
from onnx import NodeProto, TensorProto, defs, helper, numpy_helper, shape_inference

from carrysave.compiler.graph.memory import check_size
from carrysave.compiler.graph.names import label
from hw.emit.user_files import TENSORS, limit_of

__all__ = ["check_outputs"]

_ELEMENTWISE = frozenset((
    "Add", "Cast", "Clip", "DequantizeLinear", "Div", "Erf", "Exp", "HardSigmoid", "HardSwish",
    "Identity", "LeakyRelu", "Max", "Min", "Mul", "Neg", "Pow", "QuantizeLinear", "Reciprocal",
    "Relu", "Sigmoid", "Sqrt", "Sub", "Tanh",
))  # fmt: skip
"""Operators whose results are as many as their inputs are together, of any types."""
_WIDEST = 16
"""Bytes of a number at most."""
_VALUES = 256
"""Most values of an input that can be a shape, sizes or pads."""


def check_outputs(node: NodeProto, given: Sequence[Any], versions: Mapping[str, int]) -> None:
    """Refuse an operator whose outputs are too large, before it runs.

    Parameters
    ----------
    node : the operator.
    given : its inputs.
    versions : of the operators, by domain.

    Raises
    ------
    ValueError
        An output beyond the limit; names node and tensor.
    """
    if not node.domain and node.op_type in _ELEMENTWISE and _are_small(given):
        return
    version = versions[node.domain]
    if not defs.has(node.op_type, domain=node.domain, max_inclusive_version=version):
        return
    schema = defs.get_schema(node.op_type, version, node.domain)
    known = {
        name: value
        for name, value in zip(node.input, given, strict=True)
        if name and isinstance(value, np.ndarray)
    }
    types = {
        name: helper.make_tensor_type_proto(
            helper.np_dtype_to_tensor_dtype(value.dtype), value.shape
        )
        for name, value in known.items()
    }
    small = {
        name: numpy_helper.from_array(value, name)
        for name, value in known.items()
        if value.size <= _VALUES and value.dtype.kind in "iuf"
    }
    opsets = [helper.make_opsetid(domain, number) for domain, number in versions.items()]
    try:
        inferred = shape_inference.infer_node_outputs(
            schema, node, types, small, opset_imports=opsets
        )
    except (shape_inference.InferenceError, KeyError):
        # What is wrong with its inputs, the operator says itself.
        return
    for name, kind in inferred.items():
        shape = [size.dim_value for size in kind.tensor_type.shape.dim]
        bits = 8 * _bytes(kind.tensor_type.elem_type)
        check_size(partial(_output, node, name), shape, bits)


def _are_small(given: Sequence[Any]) -> bool:
    """Return whether results of as many numbers as inputs together are within the limit."""
    arrays = [one for one in given if isinstance(one, np.ndarray)]
    try:
        size = prod(np.broadcast_shapes(*(one.shape for one in arrays)))
    except ValueError:  # scales of an axis
        size = max(one.size for one in arrays)
    return size * _WIDEST <= limit_of(TENSORS)


def _output(node: NodeProto, name: str) -> str:
    return f"{label(node)}: output {name!r}"


def _bytes(kind: int) -> int:
    if kind in (TensorProto.UNDEFINED, TensorProto.STRING):
        return 1
    return helper.tensor_dtype_to_np_dtype(kind).itemsize
