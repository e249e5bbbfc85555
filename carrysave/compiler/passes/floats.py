"""Products of float networks with operands in chosen formats, and the choices in a model.

Choices are in the model's `metadata_props`: it stays a float model that any other program runs
unchanged.
"""

import json
from collections.abc import Mapping
from itertools import chain

import numpy as np
import onnx
from onnx import ModelProto, NodeProto

from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.graph.kernels import FLOAT_PRODUCTS, Unsupported, arranged, attributes
from carrysave.compiler.graph.names import key, quoted
from carrysave.compiler.lowered.encoded import Choice, Encoded, encode, steps_of
from carrysave.compiler.lowered.split_product import SplitProduct, split_codes
from carrysave.compiler.passes.product_of_codes import Match, places
from carrysave.compiler.passes.quantised_tensor import row
from carrysave.compiler.target.target import Target
from hw.emit.user_files import shown

__all__ = ["match_float_codes", "match_floats", "read", "with_choices"]

_ENTRY = "carrysave.precision"
_CODES = {"float8_e4m3fn": "e4m3", "float4_e2m1fn": "e2m1"}
"""Formats of the engine, by numpy's names of the types of codes."""
_SPLITS = "two formats along K are for matrix products with constant weights, of floats"


def match_floats(graph: Graph, node: NodeProto, target: Target, choice: Choice) -> Match:
    """Return the product of a float node, with operands in chosen formats.

    Raises
    ------
    Unsupported
        It cannot be compiled.
    """
    for name in chain(*choice.pairs):
        if name not in target.formats:
            has = ", ".join(target.formats) or "integers alone"
            raise Unsupported(f"the engine must have the format {shown(name, 100)}; it has {has}")
    if node.domain or node.op_type not in FLOAT_PRODUCTS:
        raise Unsupported(f"formats are for {', '.join(FLOAT_PRODUCTS)}")
    return _encoded(graph, node, target, choice, graph.constants.get(node.input[1]))


def _encoded(
    graph: Graph, node: NodeProto, target: Target, choice: Choice, given: np.ndarray | None
) -> Match:
    """Make the product of a node with a constant B, if any, of floats, or of floats' codes."""
    values = attributes(node)
    a, b, added = [*node.input, ""][:3]
    bias = None
    if added:
        if added not in graph.constants:
            raise Unsupported(f"bias {quoted(added)} must be a constant")
        bias = row(graph.constants[added]) * np.float32(values.get("beta", 1))
    are_codes = given is not None and given.dtype.name in _CODES
    if given is not None and are_codes:
        given = given.astype(np.float32) * np.float32(choice.b_step)
    if given is not None and (given.dtype.kind != "f" or not np.isfinite(given).all()):
        raise Unsupported("weights must be finite floats")
    weights, windows = arranged(node, given)
    steps, kind = np.full(1, choice.b_step), Encoded
    if choice.split is not None:
        if weights is None or weights.ndim != 2 or are_codes:
            raise Unsupported(_SPLITS)
        kind = SplitProduct
        weights, steps = split_codes(target.formats, choice, weights)
    elif weights is not None:
        fmt = target.formats[choice.b]
        columns = columns_of(weights)
        steps = np.full(columns.shape[1], choice.b_step) if are_codes else steps_of(fmt, columns)
        groups = weights.shape[0] if weights.ndim == 3 else 1
        each = steps.reshape(groups, 1, -1) if weights.ndim == 3 else steps
        weights = encode(fmt, weights, each)
    product = kind(
        **places(node, a, b, weights, windows),
        choice=choice,
        b_steps=steps,
        bias=bias,
        scale=float(values.get("alpha", 1)),
    )
    return Match(product=product, node=node)


def match_float_codes(graph: Graph, node: NodeProto, target: Target) -> Match | None:
    """Return the product of dequantised small floats, if the engine has their formats; else None.

    Raises
    ------
    Unsupported
        It cannot be compiled.
    """
    if node.domain or node.op_type not in FLOAT_PRODUCTS:
        return None
    if len(node.input) > 2 and node.input[2] and node.input[2] not in graph.constants:
        return None
    names, steps, given = [], [], None
    for name in node.input[:2]:
        maker = graph.makers.get(name)
        if maker is None or maker.op_type != "DequantizeLinear" or maker.domain:
            return None
        codes, scale = maker.input[0], graph.constants.get(maker.input[1])
        given = graph.constants.get(codes)
        kind = graph.types.get(codes) if given is None else given.dtype
        if kind is None or kind.name not in _CODES or scale is None or scale.size != 1:
            return None
        names.append(_CODES[kind.name])
        steps.append(float(scale.reshape(())))
    if not set(names) <= set(target.formats):
        return None
    for step in steps:
        if not 0 < step < float("inf"):
            raise Unsupported(f"scales must be finite and greater than 0, not {step}")
    choice = Choice(a=names[0], b=names[1], a_step=steps[0], b_step=steps[1])
    return _encoded(graph, node, target, choice, given)


def columns_of(weights: np.ndarray) -> np.ndarray:
    """Concatenate the columns of all groups."""
    return np.moveaxis(weights, -2, 0).reshape(weights.shape[-2], -1)


def with_choices(graph: Graph, choices: Mapping[str, Choice]) -> ModelProto:
    """Write choices, by node, into a model."""
    proto = onnx.ModelProto()
    proto.CopyFrom(graph.proto)
    others = [one for one in proto.metadata_props if one.key != _ENTRY]
    del proto.metadata_props[:]
    proto.metadata_props.extend(others)
    text = json.dumps({name: choice.fields() for name, choice in choices.items()})
    proto.metadata_props.add(key=_ENTRY, value=text)
    return proto


def read(graph: Graph) -> dict[str, Choice]:
    """Read the choices in a model; empty if there are none.

    Raises
    ------
    ValueError
        An entry not written by :func:`with_choices`.
    """
    for one in graph.proto.metadata_props:
        if one.key == _ENTRY:
            try:
                choices = {
                    name: Choice.of(fields) for name, fields in json.loads(one.value).items()
                }
            except (ValueError, TypeError, AttributeError, RecursionError) as error:
                raise ValueError(f"the model's entry {_ENTRY} cannot be read: {error}") from None
            unknown = set(choices) - {key(node) for node in graph.nodes}
            if unknown:
                raise ValueError(
                    f"the model's entry {_ENTRY} names no node: {quoted(min(unknown))}"
                )
            return choices
    return {}
