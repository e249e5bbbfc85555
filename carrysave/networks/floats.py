"""Products of float networks with operands in chosen formats, and the choices in a model.

Choices are in the model's `metadata_props`: it stays a float model that any other program runs
unchanged.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict

import numpy as np
import onnx
from onnx import ModelProto, NodeProto

from hw.emit.user_files import shown

from .encoded import Choice, Encoded, encode, steps_of
from .match_products import FLOAT_PRODUCTS, Match, Unsupported, arranged, key, places, row
from .model import Graph
from .names import quoted
from .target import Target

__all__ = ["match_floats", "read", "with_choices"]

_ENTRY = "carrysave.precision"


def match_floats(graph: Graph, node: NodeProto, target: Target, choice: Choice) -> Match:
    """Return the product of a float node, with operands in chosen formats.

    Raises
    ------
    Unsupported
        It cannot be compiled.
    """
    for name in (choice.a, choice.b):
        if name not in target.formats:
            has = ", ".join(target.formats) or "integers alone"
            raise Unsupported(f"the engine must have the format {shown(name, 100)}; it has {has}")
    if node.domain or node.op_type not in FLOAT_PRODUCTS:
        raise Unsupported(f"formats are for {', '.join(FLOAT_PRODUCTS)}")
    values = {one.name: onnx.helper.get_attribute_value(one) for one in node.attribute}
    a, b, added = [*node.input, ""][:3]
    bias = None
    if added:
        if added not in graph.constants:
            raise Unsupported(f"bias {quoted(added)} must be a constant")
        bias = row(graph.constants[added]) * np.float32(values.get("beta", 1))
    given = graph.constants.get(b)
    if given is not None and (given.dtype.kind != "f" or not np.isfinite(given).all()):
        raise Unsupported("weights must be finite floats")
    weights, windows = arranged(node, given)
    steps = np.full(1, choice.b_step)
    if weights is not None:
        fmt = target.formats[choice.b]
        steps = steps_of(fmt, columns_of(weights))
        groups = weights.shape[0] if weights.ndim == 3 else 1
        each = steps.reshape(groups, 1, -1) if weights.ndim == 3 else steps
        weights = encode(fmt, weights, each)
    product = Encoded(
        **places(node, a, b, weights, windows),
        choice=choice,
        b_steps=steps,
        bias=bias,
        scale=float(values.get("alpha", 1)),
    )
    return Match(product=product, node=node)


def columns_of(weights: np.ndarray) -> np.ndarray:
    """Concatenate the columns of all groups."""
    return np.moveaxis(weights, -2, 0).reshape(weights.shape[-2], -1)


def with_choices(graph: Graph, choices: Mapping[str, Choice]) -> ModelProto:
    """Write choices, by node, into a model."""
    proto = onnx.ModelProto()
    proto.CopyFrom(graph.proto)
    kept = [one for one in proto.metadata_props if one.key != _ENTRY]
    del proto.metadata_props[:]
    proto.metadata_props.extend(kept)
    text = json.dumps({name: asdict(choice) for name, choice in choices.items()})
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
                found = {name: Choice(**fields) for name, fields in json.loads(one.value).items()}
            except (ValueError, TypeError, AttributeError, RecursionError) as error:
                raise ValueError(f"the model's entry {_ENTRY} cannot be read: {error}") from None
            unknown = set(found) - {key(node) for node in graph.nodes}
            if unknown:
                raise ValueError(
                    f"the model's entry {_ENTRY} names no node: {quoted(min(unknown))}"
                )
            return found
    return {}
