"""Products whose weights a place in memory chooses, and rows of constants by it, as jobs."""

from collections.abc import Mapping
from dataclasses import replace
from math import prod

import numpy as np
from onnx import NodeProto

from carrysave.compiler.graph.arithmetic import Numbers
from carrysave.compiler.graph.kernels import attributes
from carrysave.compiler.lowered.chosen import ChosenProduct
from carrysave.compiler.program.arithmetic import Emitter
from carrysave.compiler.program.buffers import Buffer, Choice
from carrysave.compiler.program.image import Image
from carrysave.compiler.program.jobs import product as product_job
from carrysave.compiler.program.jobs import rows
from carrysave.compiler.program.operands import Node, operand
from carrysave.compiler.target.target import Target
from carrysave.driver.system import Tensor

__all__ = ["chosen_product", "gathered", "why_not_chosen"]

_NUMBER = 4
"""Bytes of a sum, of a float and of a place."""


def why_not_chosen(target: Target) -> str:
    """Return why places choose no weights in a program; empty: they do."""
    spec = target.spec
    if not spec.top_k or "gather" not in spec.vector_jobs or spec.scratch:
        return "weights by places take -p lists, top_k and gather=true, and no scratch"
    return "" if target.info.sums.bits == 8 * _NUMBER else "sums must have 32 bits"


def gathered(
    image: Image,
    node: NodeProto,
    tensors: Mapping[str, Tensor],
    known: Mapping[str, np.ndarray],
) -> list[Tensor] | None:
    """Have rows of constant floats gathered, by places that a job has found; None: the host has."""
    rows_, places = known.get(node.input[0]), tensors[node.input[1]]
    if rows_ is None or rows_.dtype != np.float32 or rows_.ndim != 2:
        return None
    if places.kind != np.int64 or attributes(node).get("axis", 0) or why_not_chosen(image.target):
        return None
    return [_gathered_rows(image, (node.name, node.op_type), rows_, places)]


def _gathered_rows(image: Image, node: Node, values: np.ndarray, places: Tensor) -> Tensor:
    """Have rows of numbers of 4 bytes gathered, by places in memory.

    Parameters
    ----------
    values : int32 or float32, count x N.
    places : of any shape, those of its last axis one behind the other.

    Returns
    -------
    The shape of places x N.
    """
    unit, width = image.target.spec.vector, image.target.spec.vector_out_bytes
    assert unit is not None
    kind = values.dtype
    codes = np.ascontiguousarray(values).view(f"<i{width}").reshape(len(values), -1)
    table = image.known(f"{node[0]}.rows", codes, 8 * width)
    stride, columns = image.stride(8 * width, table.columns), table.columns
    made = image.reserve(
        node[0], places.sources.size, columns, 8 * width, stride=stride, lasting=False
    )
    each = places.sources.reshape(-1, places.sources.shape[-1])
    for number, of_row in enumerate(each):
        wanted = Buffer(
            name=node[0],
            address=int(of_row[0]),
            rows=len(of_row),
            columns=1,
            bits=8 * _NUMBER,
            stride=_NUMBER,
        )
        to = made.at(number * len(of_row), len(of_row))
        for first in range(0, columns, unit.length):
            size = min(unit.length, columns - first)
            one, c = table.across(first, size), to.across(first, size)
            image.start(*node, rows(image.target, "gather", one, c, b=wanted), macs=0)
    firsts = made.address + stride * np.arange(places.sources.size)
    sources = firsts[:, None] + _NUMBER * np.arange(values.shape[1])
    return Tensor(sources.reshape(*places.sources.shape, -1), kind, 0)


def chosen_product(image: Image, product: ChosenProduct, tensors: dict[str, Tensor]) -> bool:
    """Multiply rows by weights of the places; return whether all of it is in memory.

    What codes are less than their numbers, times the sums of columns, is a bias, which is gathered.

    Parameters
    ----------
    tensors : what is in memory; gets the sums.
    """
    a, places, zero = (tensors.get(one) for one in (product.a, product.b, product.a_late))
    if a is None or places is None or (product.a_late and zero is None):
        return False
    if a.kind != product.a_type or a.sources.shape[:-2] != places.sources.shape:
        return False
    node = product.name, product.operator
    bias = _bias(image, product, a, zero, places)
    count, deep, columns = product.choices.shape
    whole = image.known(f"{product.name}.b", product.choices.reshape(-1, columns), 8)
    of_each = places.sources.reshape(-1)
    lefts = list(a.sources.reshape(len(of_each), -1, deep))
    left = operand(image, node, [(one, None) for one in lefts], "a", False)
    m, stride = len(lefts[0]), image.stride(8 * _NUMBER, columns)
    c = image.reserve(
        product.name, m * len(of_each), columns, 8 * _NUMBER, stride=stride, lasting=False
    )
    for number, place in enumerate(of_each.tolist()):
        choice = Choice(place=place, count=count, apart=deep * whole.stride)
        job = product_job(
            image.target,
            replace(left.buffer, address=left.addresses[number]),
            replace(whole.at(0, deep), choice=choice),
            c.at(number * m, m),
            bias=None if bias is None else bias[number],
        )
        image.start(*node, job)
    shape = *places.sources.shape, m, columns
    tensors[product.y] = Tensor(c.places.reshape(shape), np.dtype(np.int32), 0)
    return True


def _bias(
    image: Image, product: ChosenProduct, a: Tensor, zero: Tensor | None, places: Tensor
) -> list[Buffer] | None:
    """Have what all sums lack computed, for each place; None: nothing."""
    emitter = Emitter(image, product.name, product.operator)
    if zero is not None:
        byte = Tensor(zero.sources.reshape(1), np.dtype(np.int8), 0)
        more = Numbers(emitter).subtract(0.0, emitter.decoded(byte))
    elif a.offset == product.a_zero:
        return None
    else:
        more = emitter.constant(np.full(1, a.offset - product.a_zero))
    sums = product.choices.sum(axis=1, dtype=np.int64).astype(np.int32)
    node = product.name, product.operator
    added = emitter.integer_products(_gathered_rows(image, node, sums, places), more)
    columns = sums.shape[1]
    each = added.sources.reshape(prod(places.sources.shape), columns)
    assert (np.diff(each) == _NUMBER).all()
    return [
        Buffer(
            name=product.name,
            address=int(one[0]),
            rows=1,
            columns=columns,
            bits=8 * _NUMBER,
            stride=_NUMBER * columns,
        )
        for one in each
    ]
