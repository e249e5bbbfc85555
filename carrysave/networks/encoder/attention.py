"""Attention of a sentence, all heads, as jobs."""

from carrysave.networks.joblist.jobs import Job, Product, Scale, Scaling, Softmax, Transpose
from carrysave.networks.joblist.matrices import Memory, View
from carrysave.networks.target import Target

from .codes import CODE, WIDE, IntegerBlock, IntegerEncoder, scaled

__all__ = ["attention"]


def attention(
    memory: Memory, encoder: IntegerEncoder, layer: str, block: IntegerBlock, qkv: View,
    context: View, target: Target,
) -> list[Job]:  # fmt: skip
    """List the jobs of a sentence.

    Heads are side by side in matrices of the sentence's length, which the next sentence of the same
    length writes over; shares have a column more for each head, where the vector unit writes
    exponents. A row of all heads is as many rows of one, for the vector unit.

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
    rows, heads = context.rows, encoder.heads
    length, width = rows[1] - rows[0], encoder.words.shape[1]
    each = width // heads
    turned, scores, shares, mixed = (
        _room(memory, f"{name}.{length}", down, across, bits)
        for name, down, across, bits in (
            ("turned", width, length, 8), ("scores", length, heads * length, 16),
            ("shares", length, heads * (length + 1), 8), ("mixed", length, width, 16),
        )
    )  # fmt: skip
    # Sums of shares times values are at most 2^most codes of 8 bits.
    most = 6 + (length - 1).bit_length()
    less = max(most + CODE.bit_length() - WIDE.bit_length(), 0)
    averaged = scaled(2.0**-less, WIDE)
    scored: list[Job] = []
    mixes: list[Job] = []
    for head in range(heads):
        own = (head * each, (head + 1) * each)
        q, v = (View(qkv.name, rows, (at + own[0], at + own[1])) for at in (0, 2 * width))
        start = head * (length + 1)
        scored.append(
            Product(layer=f"{layer}scores", a=q, b=View(turned.name, own), how=block.scores[head],
                    wide=True, c=View(scores.name, None, (head * length, (head + 1) * length)),
                    target=target)
        )  # fmt: skip
        mixes.append(
            Product(layer=f"{layer}context", a=View(shares.name, None, (start, start + length)),
                    b=v, how=averaged, wide=True, c=View(mixed.name, None, own), target=target)
        )  # fmt: skip
    return [
        Transpose(layer=f"{layer}scores", x=View(qkv.name, rows, (width, 2 * width)), c=turned),
        *scored,
        Softmax(layer=f"{layer}shares", x=View(scores.name, parts=heads),
                c=View(shares.name, parts=heads), spec=encoder.unit, narrow=True),
        *mixes,
        Scale(layer=f"{layer}context", x=View(mixed.name, parts=heads),
              exponents=View(shares.name, None, (length, length + 1), parts=heads),
              c=View(context.name, rows, parts=heads),
              scaling=Scaling(scale=block.context * 2.0**less, bits=8)),
    ]  # fmt: skip


def _room(memory: Memory, name: str, rows: int, columns: int, bits: int) -> View:
    """Make room that others of the name have too."""
    known = name in memory.matrices
    return View(name) if known else memory.reserve(name, rows, columns, bits)
