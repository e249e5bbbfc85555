"""Bytes without zeros: a chunk spelled out by AMD's description, and what is refused."""

import numpy as np
import pytest

from golden.formats.bitmap import (
    BlockSize,
    image_bytes,
    pack_bitmap,
    pack_image,
    unpack_bitmap,
    unpack_image,
)


def test_a_chunk_is_a_mask_and_the_bytes_that_it_has() -> None:
    codes = np.zeros(32, np.int8)
    codes[[0, 9, 31]] = 5, -1, -128
    assert pack_bitmap(codes) == bytes([0x01, 0x02, 0x00, 0x80, 5, 0xFF, 0x80, 0])
    assert pack_bitmap(np.zeros(32, np.int8)) == bytes(4)
    assert pack_bitmap(np.zeros(0, np.int8)) == b""


@pytest.mark.parametrize("count", [0, 1, 31, 32, 33, 64, 1000])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 1.0])
def test_codes_come_back(count: int, share: float) -> None:
    rng = np.random.default_rng(count)
    codes = (rng.integers(1, 256, count) * (rng.random(count) < share)).astype(np.uint8)
    data = pack_bitmap(codes)
    assert np.array_equal(unpack_bitmap(data, count), codes)
    assert len(data) <= -(-count // 32) * 36
    masks = 4 * -(-count // 32)
    assert (
        masks + np.count_nonzero(codes) <= len(data) < masks + np.count_nonzero(codes) + masks + 1
    )


@pytest.mark.parametrize("share", [0.0, 0.1, 0.6, 1.0])
def test_bytes_are_counted_as_they_are_made(share: float) -> None:
    """Of blocks of all sizes, those at ends too, raw ones and those of zeros."""
    rng = np.random.default_rng(3)
    for _ in range(40):
        shape = rng.integers(1, 70), rng.integers(1, 130)
        rows = (rng.integers(1, 256, shape) * (rng.random(shape) >= share)).astype(np.uint8)
        rows[:, : shape[1] // 3] = 0
        size = BlockSize(int(rng.integers(1, 80)), int(rng.integers(1, 140)))
        image = np.frombuffer(pack_image(rows, size), np.uint8)
        assert image_bytes(rows, size) == len(image)
        unpacked = unpack_image(image, (int(shape[0]), int(shape[1])), size)
        assert unpacked is not None
        assert np.array_equal(unpacked, rows)
    size = BlockSize(64, 64)
    for one in (pack_image, image_bytes):
        with pytest.raises(ValueError, match="block of 64 rows of 2 bytes must take 99 bytes"):
            one(np.ones((64, 2), np.uint8), size, most=99)


def test_half_of_zeros_take_five_eighths() -> None:
    """2:4, int8: 4 bytes of a mask and 16 of codes, of 32."""
    codes = np.tile([3, 0, 0, -7], 8).astype(np.int8)
    assert len(pack_bitmap(codes)) == 20


@pytest.mark.parametrize(
    ("data", "count", "text"),
    [
        (b"\x01\x00\x00", 1, "bytes of 1 codes must not end at 3"),
        (b"\x01\x00\x00\x00", 1, "bytes of 1 codes must not end at 4"),
        (b"\x01\x00\x00\x00\x07\x00\x00", 1, "bytes of 1 codes must be 8, not 7"),
        (b"\x01\x00\x00\x00\x07\x00\x00\x00\x00", 1, "bytes of 1 codes must be 8, not 9"),
        (b"\x01\x00\x00\x00\x00\x00\x00\x00", 1, "codes that a mask has must not be 0"),
        (b"\x02\x00\x00\x00\x07\x00\x00\x00", 1, "codes beyond the last, 1, must be 0"),
    ],
)
def test_refuses(data: bytes, count: int, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        unpack_bitmap(data, count)
