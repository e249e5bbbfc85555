"""B as bitmaps and what is not zero; on a board, a copy of the packing replaces this file."""

from golden.formats.bitmap import CHUNK, BlockSize, image_bytes, pack_image

__all__ = ["CHUNK", "BlockSize", "image_bytes", "pack_image"]
