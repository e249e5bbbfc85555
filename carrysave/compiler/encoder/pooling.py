"""The mean of a sentence's codes, as a product, with the scales of its length."""

from typing import Any

import numpy as np

from carrysave.compiler.encoder.codes import WIDE
from carrysave.compiler.program.buffers import Buffer
from carrysave.compiler.program.jobs import product, scaled

__all__ = ["VECTORS", "add_pool"]

VECTORS = "vectors"
"""Buffer of the vectors of sentences, one each in a row, of codes of 16 bits."""
_MEAN = 1 << 7
"""Codes of 16 bits that the mean of a sentence's codes of 8 bits becomes."""


def add_pool(compiler: Any, x: Buffer) -> None:
    """Sum the codes of each sentence, and scale columns, to its mean.

    Parameters
    ----------
    compiler : of the program.
    x : codes of 8 bits of all sentences, a row for each token.
    """
    encoder, sums = compiler.encoder, compiler.target.info.sums.bits
    vectors = compiler.image.buffers.get(VECTORS) or compiler.image.reserve(
        VECTORS, len(compiler.places), compiler.width, 16
    )
    of_sentences = [stop - start for start, stop in compiler.places]
    # A row of biases and records for each sentence, or for each length that it may have.
    lengths = of_sentences if compiler.most is None else range(1, compiler.most + 1)
    ones = compiler.placed("ones", np.ones((1, max(lengths)), np.int64), 8)
    steps = encoder.last.steps / encoder.last.steps.max()
    requantisations = [scaled(steps * _MEAN / length, WIDE) for length in lengths]
    biases = np.rint(encoder.beta.reshape(1, -1) * np.array([*lengths])[:, None])
    bias = compiler.placed("pool.bias", biases.astype(np.int64), sums)
    records = compiler.records("pool", requantisations, compiler.width)
    for number, (span, length) in enumerate(zip(compiler.places, of_sentences, strict=True)):
        row = number if compiler.most is None else length - 1
        one = row, row + 1
        job = product(
            compiler.target,
            ones.part(None, (0, length)),
            x.part(span),
            vectors.part((number, number + 1)),
            bias=bias.part(one),
            how=requantisations[row],
            records=records.part(one),
        )
        compiler.image.start("pool", "product", job)
