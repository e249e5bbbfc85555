"""Memory of a system before it runs: what is where, and the words of a program."""

import struct
from dataclasses import dataclass, field

import numpy as np

from carrysave.driver.batch import Work
from carrysave.networks.target import Target
from carrysave.system.cycles import Memory, Places, cycles
from golden.soc.blocking import Blocks, Stores, candidates, cost

__all__ = ["COUNTERS", "MEMORY", "Image"]

MEMORY = 1 << 24
"""Bytes that an address of the serial line reaches."""
COUNTERS = 56
"""Bytes of the driver's carrysave_counters."""
_ALIGN = 16
_GATHER, _PRODUCT = 1, 2
_ADD_BIAS, _REQUANTISE, _PER_COLUMN, _BY_COLUMNS = 1, 2, 4, 8
_TRIED = 64
"""Blocks of a product that are tried, the planner's best first."""
_SHORTEST = 8
"""Beats of K of a part of it."""
_CONSTANT = -256
"""Added to a code in a table that takes it as it is."""


@dataclass
class Image:
    """Memory that is filled bit by bit; addresses are from its start.

    Members
    -------
    target : the co-processor.
    memory : how long SDRAM takes.
    parts : bytes, by address.
    end : behind the last byte in use.
    steps : words of the program's steps.
    """

    target: Target
    memory: Memory
    parts: dict[int, bytes] = field(default_factory=dict)
    end: int = 0
    steps: list[list[int]] = field(default_factory=list)

    def room(self, size: int) -> int:
        """Return the address of so many free bytes.

        Raises
        ------
        ValueError
            There are no more.
        """
        at = self.end
        self.end = -(-(at + size) // _ALIGN) * _ALIGN
        if self.end > MEMORY:
            raise ValueError(f"a network in a system must take {MEMORY:,} bytes, not more")
        return at

    def put(self, data: bytes) -> int:
        """Place bytes; return their address."""
        at = self.room(len(data))
        self.parts[at] = data
        return at

    def stride(self, bits: int, columns: int) -> int:
        """Return the bytes of a row in whole beats."""
        beat = self.target.info.stores.data_width // 8
        return -(-(columns * bits) // (8 * beat)) * beat

    def matrix(self, values: np.ndarray, bits: int) -> tuple[int, int]:
        """Place integers, each row in whole beats; return address and bytes of a row."""
        stride = self.stride(bits, values.shape[1])
        rows = np.zeros((len(values), stride), np.uint8)
        packed = np.ascontiguousarray(values.astype(f"<i{bits // 8}")).view(np.uint8)
        rows[:, : packed.shape[1]] = packed
        return self.put(rows.tobytes()), stride

    def gathered(self, sources: np.ndarray) -> int:
        """Have bytes gathered in a step; return the address of the first.

        Parameters
        ----------
        sources : count x taps, each the address of a code, or below 0 a code less 256; the byte is
            the greatest of its taps.
        """
        count, taps = sources.shape
        to = self.room(count)
        self.steps.append([_GATHER, to, self.put(sources.astype("<i4").tobytes()), count, taps])
        return to

    def rows(self, sources: np.ndarray) -> tuple[int, int]:
        """Return address and stride of a matrix of sources, as it is or gathered."""
        m, k = sources.shape
        first = int(sources[0, 0])
        stride = int(sources[1, 0]) - first if m > 1 else self.stride(8, k)
        straight = first + stride * np.arange(m)[:, None] + np.arange(k)
        if first >= 0 and stride >= k and np.array_equal(sources, straight):
            return first, stride
        stride = self.stride(8, k)
        wide = np.full((m, stride), _CONSTANT, np.int64)
        wide[:, :k] = sources
        return self.gathered(wide.reshape(-1, 1)), stride

    def product(self, jobs: list[list[int]]) -> int:
        """Have jobs run on one start; return the address of its counters."""
        counters = self.room(COUNTERS)
        self.steps.append([_PRODUCT, len(jobs), counters, *(word for job in jobs for word in job)])
        return counters

    def job(self, work: Work, sources: np.ndarray) -> tuple[list[int], np.ndarray, int]:
        """Place a work's operands; return its words, the addresses of its result, and its cycles.

        Parameters
        ----------
        sources : of its A, see :meth:`gathered`.
        """
        info, how = self.target.info, work.requantisation
        assert how is not None
        (m, k), n = sources.shape, work.b.shape[1]
        a, lda = self.rows(sources)
        b, ldb = self.matrix(work.b, 8)
        bias = 0 if work.bias is None else self.matrix(work.bias[None], info.sums.bits)[0]
        records = self.put(how.records(n).tobytes()) if how.per_column else 0
        ldc = self.stride(8, n)
        c = self.room(m * ldc)
        bits = {"a": 8, "b": 8, "c": 8}
        bits |= {"bias": info.sums.bits} if work.bias is not None else {}
        bits |= {"records": 64} if how.per_column else {}
        places = {
            "a": (a, lda), "b": (b, ldb), "c": (c, ldc), "bias": (bias, 0), "records": (records, 0)
        }  # fmt: skip
        blocks, taken = self._blocks(m, n, k, bits, places)
        flags = _REQUANTISE | _ADD_BIAS * (work.bias is not None)
        flags |= _PER_COLUMN * how.per_column | _BY_COLUMNS * blocks.by_columns
        scale = [0, 0, 0] if how.per_column else [how.multiplier, how.shift, how.zero_point]
        words = [
            a, b, c, bias, records, m, n, k, lda, ldb, ldc, flags, *map(int, scale),
            *how.limits(info.codes), blocks.m, blocks.n, blocks.k,
        ]  # fmt: skip
        return words, c + ldc * np.arange(m)[:, None] + np.arange(n), taken

    def _blocks(
        self, m: int, n: int, k: int, bits: dict[str, int], places: Places
    ) -> tuple[Blocks, int]:
        """Return the blocks of a product that take the fewest cycles, and these."""
        stores: Stores = self.target.mode.stores(self.target.info.stores)
        shared = int(self.target.design.parameters["requantisers"]) or stores.tile_n

        def price(blocks: Blocks) -> int:
            return cycles(stores, blocks, m, n, k, bits, places, self.memory, shared)

        whole = -(-k // stores.tile_k)
        known = list(candidates(stores, m, n, k))
        # Of shorter parts of K too little was measured.
        long = [one for one in known if one.k >= min(whole, _SHORTEST)]
        tried = sorted(long or known, key=lambda one: cost(stores, one, m, n, k, 8).cycles)[:_TRIED]
        best = min(tried, key=price)
        return best, price(best)

    def constant(self, codes: np.ndarray) -> np.ndarray:
        """Return the sources of codes that are known."""
        return codes + _CONSTANT

    def program(self, ring: int, scores: int, count: int) -> int:
        """Place the program; return its address, which is where a run begins."""
        words = [
            len(self.steps),
            ring,
            scores,
            count,
            *(one for step in self.steps for one in step),
        ]
        return self.put(b"".join(struct.pack("<I", word & 0xFFFFFFFF) for word in words))
