"""Bitmaps: the layout, what golden refuses, and the unit that puts the zeros back."""

import random
from typing import Any, NamedTuple

import numpy as np
import pytest
from amaranth.sim import Simulator
from scipy import sparse

from golden.formats.bitmap import (
    BlockSize,
    pack_bitmap,
    pack_block,
    pack_image,
    unpack_block,
    unpack_image,
)
from hw.catalog import Design
from hw.soc.bus.bitmap_unpacker import BitmapUnpacker

RNG = np.random.default_rng


class Packed(NamedTuple):
    """A block: its rows, whether it is raw, or zero; what is read of it."""

    rows: np.ndarray
    raw: bool
    zero: bool
    data: bytes


def any_block(rng: np.random.Generator) -> Packed:
    """Draw a block of few rows, of bytes as are in less than a mask, or in several."""
    shape = int(rng.integers(1, 6)), int(rng.integers(1, 90))
    rows = rng.integers(1, 256, shape) * (rng.random(shape) >= rng.choice([0, 0.2, 0.5, 0.9]))
    rows, raw = rows.astype(np.uint8), bool(rng.integers(2))
    if rng.integers(4) == 0:
        return Packed(rows * 0, False, True, bytes([7] * 4))
    return Packed(rows, raw, False, pack_block(rows, raw=raw))


def run(beat: int, blocks: list[Packed], stall: float) -> tuple[list[tuple[bytes, int]], bool]:
    """Unpack blocks; return the rows, whether each is its block's last, and whether it is wrong."""
    draw, dut, rows = random.Random(1), BitmapUnpacker(beat, 8, 12), list[tuple[bytes, int]]()
    pieces = [
        (block.data[at : at + beat], at + beat >= len(block.data))
        for block in blocks
        for at in range(0, len(block.data), beat)
    ]
    states = [False]

    async def bench(ctx: Any) -> None:
        number, piece, row, offered = 0, 0, b"", [False, False]
        for _ in range(20_000):
            left = number < len(blocks), piece < len(pieces)
            offered = [
                a and (b or draw.random() >= stall) for a, b in zip(left, offered, strict=True)
            ]
            ctx.set(dut.i_block.valid, int(offered[0]))
            ctx.set(dut.i.valid, int(offered[1]))
            if offered[0]:
                count, length = (size - 1 for size in blocks[number].rows.shape)
                _, raw, zero, _ = blocks[number]
                fields = {"rows": count, "bytes": length, "raw": int(raw), "zero": int(zero)}
                ctx.set(dut.i_block.payload, fields)
            data, last = pieces[piece] if offered[1] else (b"", True)
            # What is beyond the last byte may be anything.
            filled = data + bytes(draw.getrandbits(8) for _ in range(beat - len(data)))
            rest = max(len(data) - 1, 0)
            fields = {"data": int.from_bytes(filled, "little"), "rest": rest, "last": int(last)}
            ctx.set(dut.i.payload, fields | {"end": 0})
            ctx.set(dut.o.ready, int(draw.random() >= stall))
            out = dut.o.payload
            if ctx.get(dut.o.valid) and ctx.get(dut.o.ready):
                row += ctx.get(out.data).to_bytes(beat, "little")
                if ctx.get(out.last):
                    rows.append((row[: len(row) - beat + ctx.get(out.rest) + 1], ctx.get(out.end)))
                    row = b""
            if offered[0] and ctx.get(dut.i_block.ready):
                number, offered[0] = number + 1, False
            if offered[1] and ctx.get(dut.i.ready):
                piece, offered[1] = piece + 1, False
            states[0] = bool(ctx.get(dut.o_wrong))
            await ctx.tick()
            if states[0] or (number == len(blocks) and ctx.get(dut.o_idle)):
                return
        raise AssertionError("it hangs")

    simulator = Simulator(dut)
    simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    simulator.run()
    return rows, states[0]


@pytest.mark.parametrize("stall", [0, 0.5])
@pytest.mark.parametrize("beat", [4, 8, 16, 32])
def test_bitmap_unpacker_matches_golden(beat: int, stall: float) -> None:
    blocks = [any_block(RNG(seed)) for seed in range(16)]
    rows, wrong = run(beat, blocks, stall)
    expected = [
        (row.tobytes(), int(number == len(block.rows) - 1))
        for block in blocks
        for number, row in enumerate(block.rows)
    ]
    assert not wrong
    assert rows == expected


@pytest.mark.parametrize("beat", [4, 8])
def test_bitmap_unpacker_refuses_what_golden_refuses(beat: int) -> None:
    """Bytes that lack, or are left, or masks that are not theirs; no last row leaves then."""
    rng, refused = RNG(5), 0
    for _ in range(24):
        block = any_block(rng)
        if block.zero:
            continue
        data = bytearray(block.data)
        how = int(rng.integers(3))
        data = data[: max(len(data) - 4, 4)] if how == 0 else data + bytes(4 * (how == 1))
        data[0] ^= (how == 2) << int(rng.integers(8))
        size = BlockSize(*block.rows.shape)
        expected = unpack_block(np.frombuffer(bytes(data), np.uint8), size, raw=block.raw)
        rows, wrong = run(beat, [block._replace(data=bytes(data))], 0.3)
        assert wrong == (expected is None), how
        refused += wrong
        assert not (wrong and len(rows) == size.rows)
    assert refused > 5


def test_layout_is_that_which_is_published() -> None:
    """A mask of 32 bits, the lowest for the first byte; then what is not zero, and the next mask.

    Blocks alone are filled up to whole words; where each chunk is, it is AIE-ML's.
    """
    row = np.zeros((1, 34), np.uint8)
    row[0, [0, 9, 31, 33]] = 1, 2, 3, 4
    assert pack_block(row) == bytes([1, 2, 0, 128, 1, 2, 3, 2, 0, 0, 0, 4])
    assert pack_bitmap(row[0]) == bytes([1, 2, 0, 128, 1, 2, 3, 0, 2, 0, 0, 0, 4, 0, 0, 0])
    assert pack_block(row[:, :9]) == bytes([1, 0, 0, 0, 1, 0, 0, 0])
    assert pack_block(row[:, :9], raw=True) == bytes([1, *[0] * 11])
    half = np.tile(np.array([5, 0], np.uint8), (4, 32))
    assert len(pack_block(half)) == 0.625 * half.size
    assert len(pack_block(half, raw=True)) == half.size


@pytest.mark.parametrize("share", [0, 0.5, 0.9])
def test_images_hold_the_blocks_of_scipy(share: float) -> None:
    """Blocks of a matrix, as BSR has them; those of zeros take an entry and no more."""
    rng = RNG(7)
    dense = rng.integers(1, 256, (48, 96)).astype(np.uint8)
    dense[rng.random(dense.shape) < share] = 0
    dense[:16, 32:64] = 0
    size = BlockSize(16, 32)
    image = np.frombuffer(pack_image(dense, size), np.uint8)
    unpacked = unpack_image(image, dense.shape, size)
    assert unpacked is not None
    assert np.array_equal(unpacked, dense)
    blocks = sparse.bsr_array(dense, blocksize=tuple(size))
    blocks.eliminate_zeros()
    table = image[: 4 * 10].view("<u4")
    assert np.count_nonzero(np.diff(table & ~np.uint32(3))) == len(blocks.data)
    assert np.array_equal(blocks.toarray(), dense)


def test_builds_that_are_refused() -> None:
    for more in ({"data_width": 512}, {"windows": True}, {"blocks": False}):
        with pytest.raises(ValueError, match="sparse must be false between streams"):
            Design("coprocessor", {"sparse": True, "engine": "systolic_os(m=4,n=4)"} | more)
    assert "sparse" not in Design("coprocessor").key
