"""Weights of a table, or with masks; on a board, a copy of the packing replaces this file."""

from golden.lut.expander import (
    CODEBOOKS,
    MASKS,
    PLAIN,
    TRITS_OF_BYTES,
    ExpanderSpec,
    codes_of,
    masked,
    pack_codes,
    pack_masked,
    table_of,
)

__all__ = [
    "CODEBOOKS",
    "MASKS",
    "PLAIN",
    "TRITS_OF_BYTES",
    "ExpanderSpec",
    "codes_of",
    "masked",
    "pack_codes",
    "pack_masked",
    "table_of",
]
