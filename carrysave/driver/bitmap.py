"""B as bitmaps and what is not zero; on a board, a copy of the packing replaces this file."""

from golden.formats.bitmap import BlockSize, pack_image

__all__ = ["BlockSize", "pack_image"]
