"""Models with random faults, for fuzzing in their fields, for fuzzing."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import onnx
from google.protobuf.message import Message
from hypothesis import strategies as st
from onnx import ModelProto, numpy_helper

from verif.networks.graphs import Builder

__all__ = ["BASES", "broken_models"]

_NUMBERS = (
    0,
    1,
    2,
    3,
    5,
    7,
    8,
    13,
    16,
    17,
    21,
    22,
    77,
    300,
    -1,
    -2,
    1 << 31,
    (1 << 63) - 1,
    1 << 20,
)
_FLOATS = (0.0, -0.0, 1.0, -1.0, 1e-45, 1e-20, 1e20, 3e38, float("inf"), float("nan"))
_TEXTS = (
    "", "x", "y", "q", "c", "file", "[/]", "\x1b[31m", "../x", "carrysave", "ai.onnx", "a\nb",
    "com.microsoft", "Relu", "Loop", "Expand", "QLinearMatMul", "Product", "axis", "pads",
)  # fmt: skip


def _codes() -> ModelProto:
    """Return operators of codes, and one of onnxruntime's."""
    b = Builder(np.random.default_rng(1))
    zero = b.constant(3, np.uint8)
    b.node("QuantizeLinear", ["x", b.scale(), zero], "q")
    own = [b.codes((8, 4), np.int8), b.scale(4), b.constant([0] * 4, np.int8)]
    b.node("QLinearMatMul", ["q", b.scale(), zero, *own, b.scale(), zero], "c")
    more = [b.codes((4, 4), np.int8), b.scale(), b.constant(0, np.int8), b.codes((4,), np.int32)]
    inputs = ["c", b.scale(), zero, *more, b.scale(), zero]
    b.node("QGemm", inputs, "d", domain="com.microsoft", transB=1)
    codes = ["d", b.scale(), zero]
    b.node("QLinearAdd", [*codes, *codes, b.scale(), zero], "e", domain="com.microsoft")
    b.node("DequantizeLinear", ["e", b.scale(), zero], "y")
    return b.model(("n", 8), np.float32, np.float32, ("n", 4))


def _pairs() -> ModelProto:
    """Return float operators between quantisers, some of them on the host."""
    b = Builder(np.random.default_rng(2))
    zero = b.constant(128, np.uint8)
    b.node("QuantizeLinear", ["x", b.scale(), zero], "q")
    b.node("DequantizeLinear", ["q", b.scale(), zero], "f")
    own = [b.codes((4, 1, 2, 2), np.int8), b.scale(4), b.constant([0] * 4, np.int8)]
    b.node("DequantizeLinear", own, "w", axis=0)
    b.node("Conv", ["f", "w"], "c", group=2, pads=[1, 0, 0, 1], strides=[1, 2])
    b.node("Relu", ["c"], "r")
    b.node("Clip", ["r", b.constant(0.0), b.constant(6.0)], "l")
    b.node("QuantizeLinear", ["l", b.scale(), zero], "k")
    b.node("DequantizeLinear", ["k", b.scale(), zero], "g")
    b.node("MaxPool", ["g"], "m", kernel_shape=[2, 1])
    b.node("Reshape", ["m", b.constant([0, -1], np.int64)], "y")
    return b.model(("n", 2, 3, 4), np.float32, np.float32, ("n", "rest"))


def _sums() -> ModelProto:
    """Return sums of computed operands, on and off the host."""
    b = Builder(np.random.default_rng(3))
    b.node("Transpose", ["x"], "t", perm=[0, 2, 1])
    b.node("MatMulInteger", ["x", "t", b.constant(1, np.uint8), b.constant(2, np.uint8)], "s")
    b.node("Cast", ["s"], "f", to=1)
    b.node("Softmax", ["f"], "p", axis=-1)
    b.node("Pad", ["p", b.constant([0, 0, 0, 0, 1, 1], np.int64)], "w")
    b.node("Expand", ["w", b.constant([1, 4, 4], np.int64)], "y")
    return b.model(("n", 3, 4), np.uint8, np.float32, ("n", "rows", "columns"))


def _chosen() -> ModelProto:
    """Return a float model with formats for its product."""
    b = Builder(np.random.default_rng(4))
    b.node("Gemm", ["x", b.constant(b.rng.normal(size=(8, 4))), b.constant([1, 2, 3, 4])], "y")
    model = b.model(("n", 8), np.float32, np.float32, ("n", 4))
    text = '{"Gemm_y": {"a": "int8", "b": "e2m1", "a_step": 0.01}}'
    model.metadata_props.add(key="carrysave.precision", value=text)
    return model


BASES = {one.__name__[1:]: one() for one in (_codes, _pairs, _sums, _chosen)}
"""Valid models, by name."""


def _messages(message: Message) -> Iterator[Message]:
    yield message
    for field, value in message.ListFields():
        if field.message_type is not None:
            for one in value if field.is_repeated else [value]:
                yield from _messages(one)


def _value(draw: Callable[..., Any], field: Any, model: ModelProto) -> Any:
    """Draw a value of a field."""
    kind = field.cpp_type
    if kind == field.CPPTYPE_STRING:
        if field.type == field.TYPE_BYTES:
            return draw(st.binary(max_size=40))
        names = [name for node in model.graph.node for name in (*node.output, *node.input)]
        return draw(st.sampled_from([*_TEXTS, *names]))
    if kind in (field.CPPTYPE_FLOAT, field.CPPTYPE_DOUBLE):
        return draw(st.sampled_from(_FLOATS))
    if kind == field.CPPTYPE_ENUM:
        return draw(st.sampled_from([one.number for one in field.enum_type.values]))
    number = draw(st.sampled_from(_NUMBERS))
    wide = kind in (field.CPPTYPE_INT64, field.CPPTYPE_UINT64)
    number = number if wide else min(number, (1 << 31) - 1)
    return abs(number) if kind in (field.CPPTYPE_UINT32, field.CPPTYPE_UINT64) else number


def _break(draw: Callable[..., Any], model: ModelProto) -> None:
    """Change one field of one message."""
    message = draw(st.sampled_from(list(_messages(model))))
    field = draw(st.sampled_from(list(message.DESCRIPTOR.fields)))
    if field.message_type is not None and not field.is_repeated:
        change = draw(st.sampled_from(["clear", "touch"]))
        if change == "clear":
            message.ClearField(field.name)
        else:
            getattr(message, field.name).SetInParent()
        return
    if not field.is_repeated:
        setattr(message, field.name, _value(draw, field, model))
        return
    values = getattr(message, field.name)
    place = draw(st.integers(0, len(values)))
    change = draw(st.sampled_from(["delete", "copy", "add", "set", "values"]))
    if field.message_type is not None:
        if place == len(values):
            values.add()
        elif change == "delete":
            del values[place]
        else:
            values.add().CopyFrom(values[place])
    elif place == len(values) or change == "add":
        values.append(_value(draw, field, model))
    elif change == "delete":
        del values[place]
    else:
        values[place] = _value(draw, field, model)


def _replace_constant(draw: Callable[..., Any], model: ModelProto) -> None:
    """Give a constant other values, or another shape or type."""
    tensors = model.graph.initializer
    if not tensors:
        return
    tensor = draw(st.sampled_from(list(tensors)))
    kind = draw(st.sampled_from(["<f4", "i1", "u1", "<i4", "<i8", "<f2", "?", "<f8"]))
    shape = draw(st.lists(st.sampled_from([0, 1, 2, 4, 8]), max_size=4))
    numbers: tuple[float, ...] = _FLOATS if "f" in kind else (0, 1, 2, 4, 100)
    if kind == "<i8":
        numbers = (-1, 0, 1, 3, 1 << 20, 1 << 40, 1 << 62)
    values = np.full(shape, draw(st.sampled_from(numbers)))
    with np.errstate(all="ignore"):
        tensor.CopyFrom(numpy_helper.from_array(values.astype(kind), tensor.name))


@st.composite
def broken_models(draw: Callable[..., Any]) -> bytes:
    """Return a model with a few fields changed."""
    model = onnx.ModelProto()
    model.CopyFrom(BASES[draw(st.sampled_from(sorted(BASES)))])
    for _ in range(draw(st.integers(1, 4))):
        draw(st.sampled_from([_break, _break, _replace_constant]))(draw, model)
    return model.SerializePartialToString()
