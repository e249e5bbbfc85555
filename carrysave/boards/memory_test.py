"""Tests the memory of a board over its serial line: its wires, its bytes, and its rate."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from carrysave.driver import Coprocessor
from carrysave.driver.job import Job
from carrysave.driver.uart import UartLink

__all__ = ["BYTES", "Tested", "check_memory"]

BYTES = 1 << 16
"""Bytes of random data by default: half a second of a fast line."""
_BLOCK = 1 << 10
"""Bytes of random data in a row."""
_SHOWN = 8
"""Wrong bytes that a report lists."""
_TILES, _BEATS = 4, 1024
"""Tiles of rows, and beats of K, of the product that measures the rate."""
_BEAT = 8
"""Bytes in whose bits a wire that is stuck shows."""


@dataclass
class Tested:
    """What a test of a memory found.

    Members
    -------
    memory_bytes : of the memory.
    tested : bytes that were written and read.
    wrong : how many of them differ.
    first : ``test address wrote read`` of the first ones.
    high, low : bits of a beat's bytes that were read as 1, or as 0, where the other was written.
    read_bytes, written_bytes, cycles : of a product in memory; None: wrong bytes leave it out.
    """

    memory_bytes: int
    tested: int = 0
    wrong: int = 0
    first: list[dict[str, Any]] = field(default_factory=list)
    high: int = 0
    low: int = 0
    read_bytes: int | None = None
    written_bytes: int | None = None
    cycles: int | None = None

    @property
    def ok(self) -> bool:
        """Every byte was as it was written."""
        return not self.wrong

    def take(self, test: str, address: int, wrote: bytes, read: bytes) -> None:
        """Compare bytes."""
        self.tested += len(wrote)
        ours, theirs = (np.frombuffer(data, np.uint8) for data in (wrote, read))
        apart = np.flatnonzero(ours != theirs)
        self.wrong += len(apart)
        for offset in apart.tolist():
            if len(self.first) < _SHOWN:
                self.first.append({
                    "test": test,
                    "address": address + offset,
                    "wrote": int(ours[offset]),
                    "read": int(theirs[offset]),
                })
            bit = 8 * ((address + offset) % _BEAT)
            self.high |= int(theirs[offset] & ~ours[offset]) << bit
            self.low |= int(~theirs[offset] & ours[offset]) << bit


def check_memory(
    link: UartLink,
    device: Coprocessor,
    size: int = BYTES,
    seed: int = 0,
    tell: Callable[[int, int], None] = lambda done, total: None,
) -> Tested:
    """Write and read memory; all of it is lost.

    Wires of data: each bit alone, 1 and 0. Wires of addresses: a number at each power of two;
    where a wire is stuck, one has the number of another. Bytes: random ones in blocks all over the
    memory, and their complements. Then a product, whose counters say the rate.

    Parameters
    ----------
    size : bytes of random data, at most the memory.
    seed : of these.
    tell : called with bytes done, and their total.

    Raises
    ------
    LinkError
        The line fails.
    CoprocessorError
        The memory answers with an error.
    """
    tested = Tested(link.size)
    steps = [*_wires(link.size), *_blocks(link.size, min(size, link.size), seed)]
    total = sum(len(data) for _, parts in steps for _, data in parts)
    for name, parts in steps:
        for address, data in parts:
            link.write_memory(address, data)
        for address, data in parts:
            tested.take(name, address, data, link.read_memory(address, len(data)))
            tell(tested.tested, total)
    if tested.ok:
        _rate(link, device, tested)
    return tested


_Parts = list[tuple[int, bytes]]


def _wires(size: int) -> Iterator[tuple[str, _Parts]]:
    """Yield each bit of a beat alone, 1 among zeros and 0 among ones; a number at powers of two."""
    ones = (1 << 8 * _BEAT) - 1
    words = [word for bit in range(8 * _BEAT) for word in (1 << bit, ones ^ 1 << bit)]
    yield "data wires", [(0, b"".join(word.to_bytes(_BEAT, "little") for word in words))]
    places = (0, *(1 << bit for bit in range(3, size.bit_length() - 1)))
    yield (
        "address wires",
        [(address, (~address & ones).to_bytes(_BEAT, "little")) for address in places],
    )


def _blocks(size: int, count: int, seed: int) -> Iterator[tuple[str, _Parts]]:
    """Yield random blocks all over the memory, the first and the last bytes among them."""
    rng = np.random.default_rng(seed)
    number = max(1, count // _BLOCK)
    length = min(_BLOCK, count)
    places = np.linspace(0, size - length, number).astype(np.int64).tolist() if number > 1 else [0]
    data = [rng.integers(0, 256, length, np.uint8) for _ in places]
    for name, flip in (("bytes", 0), ("complements", 255)):
        yield name, [(at, (one ^ flip).tobytes()) for at, one in zip(places, data, strict=True)]


def _rate(link: UartLink, device: Coprocessor, tested: Tested) -> None:
    """Multiply matrices in memory, and take the bytes and cycles of it from its counters."""
    info, stores = device.info, device.info.stores
    if (info.a.bits, info.b.bits) != (8, 8) or stores.b_deep != 1:
        return
    beat = stores.data_width // 8
    m, n = _TILES * stores.tile_m, stores.tile_n
    ldb = -(-n // beat) * beat
    depth = min(info.k_max, _BEATS * stores.tile_k, link.size // (2 * (m + ldb)))
    k = max(1, depth // beat) * beat
    c = m * k + k * ldb
    ldc = -(-n * info.sums.bits // (8 * beat)) * beat
    if c + m * ldc > link.size:
        return
    counters = device.run_jobs([Job(a=0, b=m * k, c=c, m=m, n=n, k=k, lda=k, ldb=ldb, ldc=ldc)])
    tested.read_bytes = counters.read_beats * beat
    tested.written_bytes = counters.write_beats * beat
    tested.cycles = counters.cycles
