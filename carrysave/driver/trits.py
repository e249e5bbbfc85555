"""Five weights to a byte; on a board, a copy of the packing replaces this file."""

from golden.lut.trits import TRITS, pack_trits

__all__ = ["TRITS", "pack_trits"]
