"""An image of memory in a board's SPI flash, and what becomes of it at the start."""

import zlib
from enum import IntEnum

import numpy as np

__all__ = ["FlashImageFormat", "FlashStatus", "flash_image", "load_flash"]


class FlashStatus(IntEnum):
    """What came from flash."""

    NONE = 0
    """The design does not read flash."""
    LOADING = 1
    """It is being read, or memory has not started."""
    LOADED = 2
    """The image is in memory."""
    EMPTY = 3
    """There is no image: nothing was copied."""
    OTHER = 4
    """The image is of another design: nothing was copied."""
    DAMAGED = 5
    """Its data have another CRC; memory holds them."""
    FAILED = 6
    """Memory did not take it."""


class FlashImageFormat:
    """A header, and bytes of memory from address 0 on.

    The header has MAGIC, the design's digest (8 bytes), the number of bytes (4), their CRC-32, and
    the CRC-32 of the header so far. All numbers are little-endian.
    """

    MAGIC = b"CSF1"
    DIGEST, BYTES, DATA_CRC, CRC, HEADER = 4, 12, 16, 20, 24
    """Where fields begin, and the header ends."""


_F = FlashImageFormat


def flash_image(digest: int, data: bytes) -> bytes:
    """Return an image for the design of a digest."""
    numbers = ((digest, 8), (len(data), 4), (zlib.crc32(data), 4))
    header = _F.MAGIC + b"".join(value.to_bytes(size, "little") for value, size in numbers)
    return header + zlib.crc32(header).to_bytes(4, "little") + data


def load_flash(flash: bytes, digest: int, memory: np.ndarray) -> tuple[FlashStatus, int]:
    """Copy an image at the beginning of `flash` into memory; return what came, and its CRC.

    The CRC is 0 if no image came.
    """
    header = flash[: _F.HEADER]
    size, crc, check = (
        int.from_bytes(header[at : at + 4], "little") for at in (_F.BYTES, _F.DATA_CRC, _F.CRC)
    )
    whole = check == zlib.crc32(header[: _F.CRC]) and header.startswith(_F.MAGIC)
    if not whole or not 0 < size <= len(memory):
        return FlashStatus.EMPTY, 0
    if header[_F.DIGEST : _F.BYTES] != digest.to_bytes(8, "little"):
        return FlashStatus.OTHER, 0
    data = flash[_F.HEADER : _F.HEADER + size]
    memory[:size] = np.frombuffer(data, np.uint8)
    if zlib.crc32(data) != crc:
        return FlashStatus.DAMAGED, 0
    return FlashStatus.LOADED, crc
