"""What a language model takes of memory, and how fast that lets it be."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from carrysave.compiler.decoder.folder import Loaded
from carrysave.compiler.decoder.one_pass import side_of
from carrysave.compiler.decoder.skip import Skipped
from carrysave.compiler.decoder.units import GROUP
from carrysave.compiler.front.decoder import FEED, Model
from carrysave.compiler.lowered.heads import HOST, ONE_PASS
from golden.lut.expander import CODEBOOKS
from golden.lut.grouped import FastWeights
from golden.soc.memory_timing import MEMORIES

__all__ = ["CLOCK_MHZ", "lines", "summary"]

CLOCK_MHZ = 100
"""Of the co-processor, for rates."""
_FOR_MODELS = ("sdram16", "sdram32", "ddr3x16")
"""Memories that hold more than a few thousand bytes, of which bytes in a cycle are known."""
_SCALE = 2
_LEAST, _FIRST = 4, 1 << 12
"""Bits of a code that no table makes fewer; weights that tell most matrices without one."""
_ENTRIES = sorted(
    (one for one in CODEBOOKS.values() if one.table is None), key=lambda one: one.entries
)
_STEP_BYTES = 4
"""Of a key or value of 8 bits the exponent; of 32 values of 4 bits a step and an offset."""


def summary(
    loaded: Loaded,
    cache: int,
    bits: int,
    skipped: Skipped | None = None,
    attention: str = HOST,
) -> dict[str, Any]:
    """Return what a model takes.

    Parameters
    ----------
    loaded : the model, and how its matrices were rounded.
    cache : tokens that are taken at most.
    bits : of a key or value.
    skipped : what feed-forwards leave out.
    attention : `host`, or `one-pass`, whose values have two digits.

    Returns
    -------
    ``weights``, ``weight_bytes`` : of all matrices, in the engine's format, scales too.
    ``token_bytes`` : of those that a token is multiplied by, and of all keys and values.
    ``skip`` : share of inputs of feed-forwards that are skipped, whose rows are none of a token's.
    ``context`` : tokens for which the model was made.
    ``cache_bytes`` : of keys and values of `cache` tokens; 0 without a cache.
    ``rounded`` : for each kind of matrices in the file, ``kind``, ``matrices``, and ``error``, the
    largest of their rounding, relative, as rms.
    ``rates`` : for each memory the most tokens a second that its bytes allow, at 100 MHz.
    """
    model = loaded.model
    every = model.matrices()
    whole = sum(map(_bytes, every))
    cached = _cache_bytes(model, cache, bits, attention)
    share = 0.0 if skipped is None else skipped.share
    token = whole - _unused(model) + cached - round(share * _feed_bytes(model))
    return {
        "weights": sum(math.prod(one.shape) for one in every),
        "weight_bytes": whole,
        "token_bytes": token,
        "skip": share,
        "context": model.shape.context,
        "cache": cache,
        "cache_bytes": cached,
        "rounded": [
            {"kind": kind, "matrices": count, "error": error}
            for kind, (count, error) in sorted(loaded.rounded.items())
        ],
        "rates": {
            name: round(MEMORIES[name].bytes * CLOCK_MHZ * 1e6 / token, 2) for name in _FOR_MODELS
        },
    }


def lines(facts: Mapping[str, Any]) -> list[str]:
    """Say what :func:`summary` has."""
    bits = 8 * facts["weight_bytes"] / facts["weights"]
    rates = ", ".join(f"{name} {rate:,.1f}" for name, rate in facts["rates"].items())
    made = [
        f"{facts['weights']:,} weights of {bits:.2f} bits; {facts['token_bytes']:,} bytes a token, "
        f"{facts['cache_bytes']:,} of them keys and values of {facts['cache']:,} tokens; context "
        f"{facts['context']:,}",
        f"tokens a second that memory allows at {CLOCK_MHZ} MHz: {rates}",
    ]
    if facts["skip"]:
        made.append(f"feed-forwards skip about {100 * facts['skip']:.3g} % of the rows of weights")
    made += [
        f"{one['matrices']:,} matrices of {one['kind']}: {100 * one['error']:.2g} % off, rounded"
        for one in facts["rounded"]
        if one["error"]
    ]
    return made


def _bytes(matrix: FastWeights) -> int:
    """Return the bytes of codes, scales and offsets; zero points may take a bit more of a code."""
    groups = math.prod(matrix.shape) // matrix.group
    return -(-groups * _group_bits(matrix) // 8) + _SCALE * _numbers(matrix)


def _numbers(matrix: FastWeights) -> int:
    """Count scales and offsets."""
    return int(matrix.scales.size + (0 if matrix.offsets is None else matrix.offsets.size))


def _group_bits(matrix: FastWeights) -> int:
    """Return the bits of a group's codes in memory: of a table, where a matrix has few numbers.

    Words of a group are whole: codes of 3 bits, 21 in 64, are of 4 bits in groups of 32.
    """
    least, most = matrix.least, matrix.most
    bits = most.bit_length() if least >= 0 else max(most, ~least).bit_length() + 1
    whole = max(bits, matrix.bits) * matrix.group
    if matrix.bits <= _LEAST:
        return whole
    flat = matrix.integers.reshape(-1)
    count = len(np.unique(flat[:_FIRST]))
    if count <= _ENTRIES[-1].entries:
        count = len(np.unique(flat))
    fitting = [one for one in _ENTRIES if one.entries >= count]
    return min([whole, *(one.bits * -(-matrix.group // one.deep) for one in fitting)])


def _unused(model: Model) -> int:
    """Return the bytes of experts that a token does not take."""
    total = 0
    for layer in model.layers:
        if layer.experts is not None:
            each = sum(_bytes(layer.experts.each[0][name]) for name in FEED)
            total += each * (len(layer.experts.each) - layer.experts.used)
    return total


def _feed_bytes(model: Model) -> int:
    """Return the bytes of all codes of feed-forwards that a token takes, without scales."""
    every = [
        each[name]
        for layer in model.layers
        for each in (
            layer.experts.each[: layer.experts.used] if layer.experts else [layer.matrices]
        )
        for name in FEED
    ]
    return sum(_bytes(one) - _SCALE * _numbers(one) for one in every)


def _cache_bytes(model: Model, cache: int, bits: int, attention: str) -> int:
    shape = model.shape
    if model.form != "attention":
        return 0
    if attention == ONE_PASS:
        # Of a token a key, its steps, and a value of two digits, with 1 beside it.
        each = 3 * shape.head + 1 + shape.head // side_of(shape.head) * _SCALE
        return shape.layers * shape.shared * each * cache
    steps = 1 if bits == 8 else shape.head // GROUP
    each = shape.head * bits // 8 + steps * _STEP_BYTES
    return 2 * shape.layers * shape.shared * each * cache
