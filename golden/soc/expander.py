"""Which expander of weights an engine can have in front of it."""

import numpy as np

from golden.engine import EngineSpec
from golden.formats.integer import IntFormat
from golden.formats.sparse import SparseFormat
from golden.lut.expander import (
    CODEBOOKS,
    MASKS,
    PLAIN,
    TRITS_OF_BYTES,
    ExpanderSpec,
    expand,
    masked,
    unpack_codes,
)
from golden.lut.trits import unpack_trits
from golden.npe.npe import NpeSpec
from golden.tpe.rows import SparseEngineSpec

__all__ = ["BOOKS", "expand_masked", "expand_words", "expander_of"]

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
    if isinstance(engine, SparseEngineSpec) and engine.sparse is not None:
        return _of_masks(engine, trits=trits, codebook=codebook)
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
    if codebook.mirrored and not fmt.signed:
        raise ValueError(f"codebook must be none or not mirrored with {fmt.name}, not {name}")
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


def _of_masks(engine: SparseEngineSpec, *, trits: bool, codebook: str) -> ExpanderSpec:
    assert engine.sparse is not None
    for what, is_so, value in (
        ("trits must be false", trits, "true"),
        ("codebook must be none", codebook != "none", codebook),
    ):
        if is_so:
            raise ValueError(f"{what} with an engine whose B has masks, not {value}")
    names = {wanted: name for name, wanted in MASKS.items()}
    name = names.get((engine.sparse.count, engine.sparse.group))
    if name is None:
        known = ", ".join(f"{count}:{group}" for count, group in MASKS.values())
        raise ValueError(
            f"sparsity must be none or {known} in a co-processor, not {engine.sparsity}"
        )
    made = masked(name, engine.b_width)
    if engine.k % made.deep:
        raise ValueError(
            f"k must be a multiple of {made.deep} where B has masks of codes of {engine.b_width}"
            f" bits, in words of {made.bits}, not {engine.k}"
        )
    return made


def expand_masked(words: np.ndarray, spec: ExpanderSpec, fmt: IntFormat) -> np.ndarray:
    """Return the numbers of words of masks and codes, R x N: deep R x N.

    Of a mask with more bits than a group has codes the lowest count; a code without one counts, at
    the place that :func:`golden.lut.expander.kept_places` gives it.
    """
    sparse = SparseFormat(spec.count, spec.group)
    wide = words.astype(np.uint64)

    def parts(first: int, bits: int, number: int) -> np.ndarray:
        places = [np.uint64(first + bits * at) for at in range(number)]
        taken = [(wide >> place & np.uint64((1 << bits) - 1)).astype(np.int64) for place in places]
        return np.stack(taken, axis=1).reshape(-1, words.shape[1])

    masks = parts(0, spec.group, spec.deep // spec.group)
    return sparse.expand(masks, fmt.wrap(parts(spec.first, spec.width, spec.present)))


def expand_words(words: np.ndarray, spec: ExpanderSpec, table: np.ndarray) -> np.ndarray:
    """Return the numbers of words, R x N: deep R x N; trits need no table."""
    if spec == TRITS_OF_BYTES:
        return unpack_trits(words)
    return expand(unpack_codes(words, spec), table)
