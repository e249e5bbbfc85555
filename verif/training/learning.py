"""Small networks that learn, for tests, and what is in their memory."""

from functools import cache
from typing import Any

import numpy as np

from carrysave.compiler.target.target import Target
from carrysave.training.compile import Rates
from carrysave.training.encodings import Draws, Encoding
from carrysave.training.learner import Learner
from carrysave.training.recipes import BF16, RECIPES, target_of
from carrysave.training.samples import first_weights
from golden.formats.block import Blocks

__all__ = ["RATES", "SIZES", "batch", "blocks_of", "learner", "operands", "target"]

SIZES = (20, 24, 10)
RATES = Rates(rate=0.125, momentum=0.5, steps=16)
_BATCH = 40


@cache
def target(name: str) -> Target:
    return target_of(RECIPES[name], {"m": "4", "n": "4"})


def learner(name: str, seed: int = 1, *, stochastic: bool = True, rates: Rates = RATES) -> Learner:
    """Return a network that has learnt nothing."""
    return Learner(
        RECIPES[name],
        target(name),
        first_weights(SIZES, seed),
        batch=_BATCH,
        rates=rates,
        draws=Draws(seed, 8) if stochastic else None,
        stored=BF16,
    )


def batch(seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Return images of 0..1, and labels that depend on them."""
    rng = np.random.default_rng([seed, 9])
    x = rng.integers(0, 17, (_BATCH, SIZES[0])) / 16
    return x, (x @ rng.uniform(-1, 1, (SIZES[0], SIZES[-1]))).argmax(axis=1)


def blocks_of(one: Encoding, memory: np.ndarray) -> Blocks:
    """Read an operand back: codes as M x K or K x N, scales, and the scale of the whole."""
    mode, data = one.to.mode, one.to.codes.view(memory).view(np.uint8)
    columns = one.source.columns
    if one.of_b:
        words = mode.b_stored.unpack(data, columns * mode.codes)
        codes = words.reshape(-1, columns, mode.codes).transpose(0, 2, 1).reshape(-1, columns)
        codes = codes[: one.to.k]
    else:
        codes = mode.a.unpack(data, columns)
    scales = one.to.scales.view(memory).view(np.uint8).astype(np.int64)
    whole = 1.0 if one.factor is None else float(one.factor.view(memory)[0, 0])
    return Blocks(codes=codes.astype(np.int64), scales=scales, tensor_scale=whole)


def operands(one: Learner) -> dict[str, Any]:
    """Return the operands of all products as doubles, by names such as ``dw1.b``."""
    return {
        encoding.to.codes.name.removesuffix(".codes"): one.recipe.operands.to_float(
            blocks_of(encoding, one.memory), axis=0 if encoding.of_b else 1
        )
        for section in one.step_program.encodings
        for encoding in section
    }
