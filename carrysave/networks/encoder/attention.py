"""Attention of a sentence, all heads, as jobs."""

import numpy as np

from carrysave.networks.joblist.jobs import Job, Multiply, Product, Scaling, Softmax, Transpose
from carrysave.networks.joblist.matrices import Memory, View
from carrysave.networks.target import Target

from .codes import IntegerBlock, IntegerEncoder, Row

__all__ = ["attention"]


def attention(
    memory: Memory, encoder: IntegerEncoder, layer: str, block: IntegerBlock, qkv: View,
    context: View, target: Target,
) -> list[Job]:  # fmt: skip
    """List the jobs of a sentence.

    Heads are side by side in matrices of the sentence's length, which the next sentence of the same
    length writes over; shares have a column more for each head, where the vector unit writes
    exponents.

    Parameters
    ----------
    memory : gets these matrices.
    encoder, block : in integers, all and this layer.
    layer : such as ``0.``.
    qkv : queries, keys and values of all sentences.
    context : where the sentence's results go.
    target : the co-processor.
    """
    assert context.rows is not None
    rows, heads, spec = context.rows, encoder.heads, encoder.unit
    length, width = rows[1] - rows[0], encoder.words.shape[1]
    each, most = width // heads, Softmax.exponent(spec, length)
    turned, sums, scores, wide, shares, factors, mixed = (
        _room(memory, f"{name}.{length}", down, across, bits)
        for name, down, across, bits in (
            ("turned", width, length, 8), ("sums", length, heads * length, 32),
            ("scores", length, heads * length, 16), ("wide", length, heads * (length + 1), 16),
            ("shares", length, heads * (length + 1), 8), ("factors", length, heads, 16),
            ("mixed", length, width, 32),
        )
    )  # fmt: skip
    steps = Row.of(np.repeat(block.scores, length))
    one = _placed(memory, "one", np.ones((1, 1), np.int64))
    narrow = spec.magnitude_width - 7
    scored: list[Job] = []
    shared: list[Job] = []
    averaged: list[Job] = []
    for head in range(heads):
        own = (head * each, (head + 1) * each)
        q, v = (View(qkv.name, rows, (at + own[0], at + own[1])) for at in (0, 2 * width))
        place = (head * length, (head + 1) * length)
        share = View(shares.name, None, (place[0] + head, place[1] + head))
        factor, mean = View(factors.name, None, (head, head + 1)), View(mixed.name, None, own)
        scored.append(
            Product(layer=f"{layer}scores", a=q, b=View(turned.name, own),
                    c=View(sums.name, None, place), target=target)
        )  # fmt: skip
        shared.append(
            Softmax(layer=f"{layer}shares", x=View(scores.name, None, place),
                    c=View(wide.name, None, share.columns), factors=factor, spec=spec)
        )  # fmt: skip
        averaged += [
            Product(layer=f"{layer}context", a=share, b=v, c=mean, target=target),
            Multiply(layer=f"{layer}context", a=mean, b=factor, c=View(context.name, rows, own),
                     scaling=Scaling(scale=block.context * 2.0 ** (narrow - most), bits=8)),
        ]  # fmt: skip
    return [
        Transpose(layer=f"{layer}scores", x=View(qkv.name, rows, (width, 2 * width)), c=turned),
        *scored,
        Multiply(layer=f"{layer}scores", a=sums, c=scores,
                 b=_placed(memory, f"{layer}scores.{length}", steps.codes),
                 scaling=Scaling(scale=steps.scale, bits=16)),
        *shared,
        Multiply(layer=f"{layer}shares", a=wide, b=one, c=shares,
                 scaling=Scaling(scale=2.0**-narrow, bits=8)),
        *averaged,
    ]  # fmt: skip


def _room(memory: Memory, name: str, rows: int, columns: int, bits: int) -> View:
    """Make room that others of the name have too."""
    known = name in memory.matrices
    return View(name) if known else memory.reserve(name, rows, columns, bits)


def _placed(memory: Memory, name: str, codes: np.ndarray) -> View:
    """Bring codes of 16 bits that others of the name use too."""
    if name not in memory.matrices:
        memory.place(name, codes, 16)
    return View(name)
