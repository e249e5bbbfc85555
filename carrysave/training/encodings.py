"""Rounds floats in a program's memory to operands of its products, as the host does it."""

import math
from dataclasses import dataclass

import numpy as np

from carrysave.compiler.program.buffers import Buffer
from carrysave.compiler.program.jobs import Scaled
from golden.formats.block import BlockFormat
from golden.formats.element import ElementFormat
from golden.formats.placed_bits import ROWS, SEED, placed_bits
from golden.formats.random_bits import RandomBits

__all__ = ["Draws", "Encoding", "encode", "rounded"]


class Draws:
    """Random bits for what is rounded by chance: those of rows of one tall matrix, one by one.

    They are made as a co-processor makes those of its codes.

    Parameters
    ----------
    seed : the same bits for the same seed, of which the lowest 31 bits are looked at.
    width : bits for each number, see :class:`golden.formats.random_bits.RandomBits`.
    """

    def __init__(self, seed: int, width: int) -> None:
        self.seed, self.width = seed & SEED.high, width
        self._row = 0

    def bits(self, shape: tuple[int, ...]) -> RandomBits:
        """Return the next ones, for as many rows of numbers; from row 2^24 on, the first again."""
        *above, columns = shape
        rows = self._row + np.arange(math.prod(above)).reshape(*above, 1)
        self._row += rows.size
        return placed_bits(self.seed, rows % ROWS, np.arange(columns), self.width)


@dataclass(frozen=True, kw_only=True)
class Encoding:
    """Floats, and the operand that they become.

    Blocks run along K: of A in each row, of B in each column. A matrix that is an operand of two
    products is rounded for each, from floats, never from codes.

    Members
    -------
    source : rows of A, M x K; or of B, K x N. It may be turned.
    to : where codes and scales go.
    factor : where the scale of the whole goes, a float; None: there is none.
    of_b : it is B.
    gradient : it is rounded by chance, if gradients are.
    """

    source: Buffer
    to: Scaled
    factor: Buffer | None
    of_b: bool
    gradient: bool = False


def encode(memory: np.ndarray, one: Encoding, operands: BlockFormat, draws: Draws | None) -> None:
    """Write an operand into memory.

    Parameters
    ----------
    memory : uint8, of the program.
    operands : format of blocks.
    draws : of the bits by which gradients are rounded; None: they are rounded to nearest, too.
    """
    values, axis = one.source.view(memory).astype(np.float64), 0 if one.of_b else 1
    if one.gradient and draws is not None:
        made = operands.quantise(
            values, axis=axis, rounding="stochastic", random=draws.bits(values.shape)
        )
    else:
        made = operands.quantise(values, axis=axis)
    mode = one.to.mode
    packed = mode.b_stored.pack(mode.words(made.codes)) if one.of_b else mode.a.pack(made.codes)
    one.to.codes.view(memory)[:] = packed.view(np.int8)
    one.to.scales.view(memory)[:] = made.scales.astype(np.uint8).view(np.int8)
    if one.factor is not None:
        one.factor.view(memory)[:] = made.tensor_scale


def rounded(memory: np.ndarray, floats: Buffer, to: ElementFormat, draws: Draws | None) -> None:
    """Round floats in place to a narrower format, by chance or, without draws, to nearest."""
    numbers = floats.view(memory)
    how = "rne" if draws is None else "stochastic"
    random = None if draws is None else draws.bits(numbers.shape)
    numbers[:] = to.to_float(to.encode(numbers, rounding=how, random=random))
