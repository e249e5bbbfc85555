"""The embedding in a decoder's program: of the matrix to the words if it is that, or by itself."""

from dataclasses import replace

import numpy as np

from carrysave.compiler.decoder.matrix import F32, F64, I8, Matrix
from carrysave.compiler.front.decoder import Model
from carrysave.compiler.front.embedding import Embedding
from carrysave.compiler.program.buffers import Buffer
from carrysave.compiler.program.build import Builder
from carrysave.compiler.program.floats import Operation

__all__ = ["embed", "is_tied"]

_WORDS = 2048
"""Whose rows are compared together."""


def is_tied(model: Model) -> bool:
    """Return whether the embedding is the matrix to the words, scaled, to the last bit."""
    head, factor = model.head, np.float32(model.embedding_scale)
    if head.rows is not None:
        return False
    if isinstance(model.embedding, Embedding) and model.embedding.head is head:
        return model.embedding.scale == factor
    words = np.arange(head.shape[2])
    return all(
        np.array_equal(head.floats(some) * factor, model.embedding[some])
        for some in np.array_split(words, -(-len(words) // _WORDS))
    )


def embed(to: Builder, x: Buffer, token: str, model: Model, head: Matrix) -> None:
    """Add steps that make a token's row of the embedding.

    A tied embedding is not stored again: if each weight of the matrix is a byte, with all of its
    digits, these are looked up, a column of the matrix; else its codes are stored once more, a byte
    each. Scales and offsets are the matrix's. Numbers are those of `model.embedding`, bit by bit.

    Parameters
    ----------
    x : where the row goes.
    token : the parameter that chooses it.
    head : the matrix to the words.
    """
    small = head.weights.least >= -128 and head.weights.most <= 127
    if not is_tied(model) or (head.codes.values is None and not small):
        table = to.constant(np.asarray(model.embedding), F32)
        to.floats(Operation.COPY, x, table.at(0, 1).moving(token, table.stride))
        return
    if head.codes.values is None:
        table = to.constant(head.weights.integers.reshape(x.columns, -1).T, I8)
        to.floats(Operation.COPY, x, table.at(0, 1).moving(token, table.stride))
    else:
        (b,) = head.codes.parts
        column = replace(b, rows=1, columns=x.columns, bits=8, column=b.stride, format=I8)
        values = to.constant(head.codes.values, F32).across(0, 1)
        to.floats(Operation.LOOK_UP, x, column.moving(token, 1), values)
    rows = x.split(head.weights.group)
    for operation, numbers in ((Operation.MULTIPLY, head.scales), (Operation.ADD, head.offsets)):
        if numbers is not None:
            one = numbers.across(0, 1).moving(token, numbers.step)
            to.floats(operation, rows, rows, one)
    if model.embedding_scale != 1:
        to.floats(Operation.MULTIPLY, x, x, to.constant(np.float32(model.embedding_scale), F64))
