"""Which expander of weights an engine can have in front of it."""

import numpy as np

from golden.engine import EngineSpec
from golden.formats.integer import IntFormat
from golden.lut.expander import (
    CODEBOOKS,
    PLAIN,
    TRITS_OF_BYTES,
    ExpanderSpec,
    expand,
    unpack_codes,
)
from golden.lut.trits import unpack_trits
from golden.npe.npe import NpeSpec

__all__ = ["BOOKS", "expand_words", "expander_of"]

BOOKS = ("none", *CODEBOOKS)
"""Choices of a codebook."""
_ENTRY = 8
"""Bits of an entry of a job's table in memory."""


def expander_of(engine: EngineSpec | NpeSpec, *, trits: bool, codebook: str) -> ExpanderSpec:
    """Return the expander of an engine's weights.

    Raises
    ------
    ValueError
        The engine does not take its numbers, or not as many along K.
    """
    if not trits and codebook == "none":
        return PLAIN
    if isinstance(engine, NpeSpec):
        what, value = (
            ("trits must be false", True) if trits else ("codebook must be none", codebook)
        )
        raise ValueError(f"{what} with an engine of several formats, not {str(value).lower()}")
    if not trits:
        return _of_table(engine, CODEBOOKS[codebook])
    if codebook != "none":
        raise ValueError(f"codebook must be none with trits, not {codebook}")
    deep = TRITS_OF_BYTES.deep
    if engine.b_format != IntFormat(width=2) or engine.k % deep:
        raise ValueError(
            f"trits must be false unless codes of B are signed, of 2 bits, and a beat has a "
            f"multiple of {deep} along K, not {engine.k} of {engine.b_format.name}"
        )
    return TRITS_OF_BYTES


def _of_table(engine: EngineSpec, codebook: ExpanderSpec) -> ExpanderSpec:
    fmt, name = engine.b_format, codebook.name
    if not isinstance(fmt, IntFormat) or not codebook.width < fmt.width <= _ENTRY:
        raise ValueError(
            "codebook must be none unless codes of B are integers of"
            f" {codebook.width + 1}..{_ENTRY} bits, not {name} with {fmt.name}"
        )
    table = codebook.table
    if table is not None and (fmt.wrap(np.array(table)) != table).any():
        raise ValueError(
            f"codebook must have numbers of {fmt.name}, not {name} of {min(table)}..{max(table)}"
        )
    if engine.k % codebook.deep:
        raise ValueError(
            f"codebook must be none unless a beat has a multiple of {codebook.deep} along K, not"
            f" {name} with {engine.k}"
        )
    return codebook


def expand_words(words: np.ndarray, spec: ExpanderSpec, table: np.ndarray) -> np.ndarray:
    """Return the numbers of words, R x N: deep R x N; trits need no table."""
    if spec == TRITS_OF_BYTES:
        return unpack_trits(words)
    return expand(unpack_codes(words, spec), table)
