"""Weights as codes of a table; on a board, a copy of the packing replaces this file."""

from golden.lut.expander import (
    CODEBOOKS,
    PLAIN,
    TRITS_OF_BYTES,
    ExpanderSpec,
    codes_of,
    pack_codes,
    table_of,
)

__all__ = [
    "CODEBOOKS",
    "PLAIN",
    "TRITS_OF_BYTES",
    "ExpanderSpec",
    "codes_of",
    "pack_codes",
    "table_of",
]
