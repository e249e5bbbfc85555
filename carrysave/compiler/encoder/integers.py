"""A text encoder to integers: steps are chosen, weights rounded."""

import numpy as np

from carrysave.compiler.encoder.codes import (
    CODE,
    WIDE,
    DenseCodes,
    IntegerBlock,
    IntegerEncoder,
    NormCodes,
    Row,
)
from carrysave.compiler.encoder.ranges import BlockRanges, Ranges
from carrysave.compiler.front.encoder_weights import Block, Dense, Encoder, Norm
from carrysave.compiler.program.jobs import scaled
from golden.elementary import power
from golden.npe.vector import VectorUnitSpec
from golden.portable_product import product

__all__ = ["quantise"]

_WIDE = 16_000
"""Largest code of 16 bits in a calibration: sums twice as large fit."""
_LEAST = 0.28
"""A gate is minus this at least."""


def quantise(
    encoder: Encoder, calibrated: Ranges, spec: VectorUnitSpec, balance: float = 0.75
) -> IntegerEncoder:
    """Choose steps, and round weights.

    What norms add goes into the biases of the products after them, the steps of their columns into
    the weights.

    Parameters
    ----------
    encoder : in floats.
    calibrated : ranges of a calibration.
    spec : the vector unit; norms have `norm_fraction` bits after the point.
    balance : 0: the same step for all columns after a norm; 1: each column has all codes.
    """
    most = max(np.abs(encoder.words).max() + np.abs(encoder.positions).max(), 1e-6)
    words, positions = (
        np.rint(table / most * _WIDE).astype(np.int64)
        for table in (encoder.words, encoder.positions)
    )
    norms = [encoder.norm]
    sizes = [calibrated.embedding]
    blocks = []
    for block, sizes_of in zip(encoder.blocks, calibrated.blocks, strict=True):
        blocks.append(_block(norms[-1], sizes[-1], block, sizes_of, encoder.heads, spec, balance))
        norms.append(block.feed)
        sizes.append(sizes_of.feed)
    last = _norm(norms[-1], sizes[-1], None, spec, 1.0, None)
    return IntegerEncoder(
        words=words,
        positions=positions,
        blocks=tuple(blocks),
        last=last,
        beta=norms[-1].beta / last.steps,
        heads=encoder.heads,
        activation=encoder.activation,
        unit=spec,
    )


def _norm(
    norm: Norm,
    largest: np.ndarray,
    weights: np.ndarray | None,
    spec: VectorUnitSpec,
    balance: float,
    residual: float | None,
) -> NormCodes:
    """Choose the steps of codes after a norm: columns that get large have larger ones."""
    least = largest / CODE
    steps = least
    if weights is not None:
        heavy = np.maximum(np.abs(weights).max(axis=1), 1e-9)
        steps = power(least, balance) * power(heavy, balance - 1)
        steps = steps * (least / steps).max()
    unit = norm.gamma * 2.0**-spec.norm_fraction
    return NormCodes(
        operand=Row.of(unit / steps),
        steps=steps,
        residual=None if residual is None else Row.of(unit / residual),
    )


def _block(
    norm: Norm,
    largest: np.ndarray,
    block: Block,
    ranges: BlockRanges,
    heads: int,
    spec: VectorUnitSpec,
    balance: float,
) -> IntegerBlock:
    width = len(largest)
    sums, alls = ranges.sum / _WIDE, ranges.all / _WIDE
    before = _norm(norm, largest, block.qkv.weights, spec, balance, sums)
    between = _norm(block.attention, ranges.attention, block.up.weights, spec, balance, alls)
    bias = block.qkv.bias + product(norm.beta[None], block.qkv.weights)[0]
    bias[width : 2 * width] -= ranges.k_middle
    qkv = DenseCodes.of(Dense(weights=block.qkv.weights, bias=bias), before.steps)
    # A head's queries times keys have one step, the steps of columns of each are balanced.
    pairs = (ranges.q * ranges.k).reshape(heads, -1).max(axis=1) / (CODE * CODE)
    pair = np.repeat(pairs, width // heads)
    steps_q, steps_k = np.sqrt(pair * ranges.q / ranges.k), np.sqrt(pair * ranges.k / ranges.q)
    steps_v = ranges.v / CODE
    context = ranges.context * steps_v
    out = DenseCodes.of(Dense(weights=block.out.weights, bias=block.out.bias + norm.beta), context)
    up = DenseCodes.of(
        Dense(
            weights=block.up.weights,
            bias=block.up.bias + product(block.attention.beta[None], block.up.weights)[0],
        ),
        between.steps,
    )
    gate = 2 * CODE / (ranges.gate + _LEAST)
    zero = round(_LEAST * gate) - CODE
    down = DenseCodes.of(
        Dense(weights=block.down.weights, bias=block.down.bias + block.attention.beta), 1 / gate
    )
    bias = down.bias - zero * down.weights.sum(axis=0, keepdims=True)
    down = DenseCodes(weights=down.weights, bias=bias, steps=down.steps)
    units = 2.0**spec.scale_width
    return IntegerBlock(
        before=before, between=between, qkv=qkv,
        to_qkv=qkv.to(np.concatenate([steps_q, steps_k, steps_v])),
        scores=tuple(scaled(one, WIDE) for one in pairs * units / np.sqrt(width // heads)),
        context=1 / ranges.context, out=out, mixed=out.to(sums, WIDE), up=up,
        raised=up.to(1 / units, WIDE), gate=gate, gate_zero=zero, down=down,
        fed=down.to(alls, WIDE),
    )  # fmt: skip
