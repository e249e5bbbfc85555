"""Memory of a program before it runs: what is where, and the steps."""

from dataclasses import dataclass, field, replace

import numpy as np

from carrysave.compiler.program.cycles import Memory, Places, cycles
from carrysave.compiler.program.steps import Move, Start
from carrysave.compiler.target.mapping import START
from carrysave.compiler.target.target import Target
from carrysave.driver.batch import Work
from carrysave.driver.job import Job
from golden.soc.blocking import Blocks, Stores, candidates, cost, costs, plan

__all__ = ["COUNTERS", "DESCRIPTOR", "JOBS", "Image", "like"]

COUNTERS = 56
"""Bytes of the driver's carrysave_counters."""
DESCRIPTOR = 128
"""Bytes of a job for the hardware."""
JOBS = 8
"""On one start, as the firmware has room for."""
_ALIGN = 16
_TRIED = 64
"""Blocks of a product that are tried, the planner's best first."""
_SHORTEST = 8
"""Beats of K of a part of it."""
_CONSTANT = -256
"""Added to a code that a move takes as it is."""


@dataclass
class Image:
    """Memory that is filled bit by bit; addresses are from its start.

    Members
    -------
    target : the co-processor.
    memory : how long SDRAM takes; None: memory that reads and writes a beat each cycle.
    most : bytes that it may have.
    parts : bytes, by address.
    end : behind the last byte in use.
    steps : of the program so far.
    """

    target: Target
    memory: Memory | None = None
    most: int = 1 << 31
    parts: dict[int, bytes] = field(default_factory=dict)
    end: int = 0
    steps: list[Move | Start] = field(default_factory=list)

    def room(self, size: int) -> int:
        """Return the address of so many free bytes.

        Raises
        ------
        ValueError
            There are no more.
        """
        at = self.end
        self.end = -(-(at + size) // _ALIGN) * _ALIGN
        if self.end > self.most:
            raise ValueError(f"the program must take {self.most:,} bytes of memory, not more")
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

    def constant(self, codes: np.ndarray) -> np.ndarray:
        """Return the sources of codes that are known."""
        return codes + _CONSTANT

    def move(
        self, node: str, operator: str, sources: np.ndarray, table: bytes = b"", row: int = 0
    ) -> int:
        """Have bytes moved; return the address of the first.

        Parameters
        ----------
        node, operator : for which.
        sources : count x sources of each byte: addresses of codes, or those of :meth:`constant`.
        table : codes by the code of the source, or by those of two, the first one's in the upper
            byte, each as it is in memory, without a sign; empty: the greatest of the sources.
        row : bytes of a row, if sources are of rows that may be alike; 0: they are not.
        """
        count, taps = sources.shape
        to = self.room(count)
        patterns, words = _patterns(sources, row or count)
        self.steps.append(Move(
            node=node, operator=operator, to=to, bytes=count, taps=taps, patterns=patterns,
            at=self.put(words.astype("<i4").tobytes()), table=self.put(table) if table else 0,
        ))  # fmt: skip
        return to

    def rows(self, node: str, operator: str, sources: np.ndarray) -> tuple[int, int]:
        """Return address and stride of a matrix of sources, as it is or moved."""
        m, k = sources.shape
        first = int(sources[0, 0])
        stride = int(sources[1, 0]) - first if m > 1 else self.stride(8, k)
        straight = first + stride * np.arange(m)[:, None] + np.arange(k)
        if first >= 0 and stride >= k and np.array_equal(sources, straight):
            return first, stride
        stride = self.stride(8, k)
        wide = np.empty((m, stride), np.int64)
        wide[:, :k] = sources
        # What fills a row is not looked at: the bytes behind its last one, to need no record.
        more = sources[:, -1:] + 1 + np.arange(stride - k)
        wide[:, k:] = np.where((sources[:, -1:] >= 0) & (more < self.end), more, _CONSTANT)
        return self.move(node, operator, wide.reshape(-1, 1), row=stride), stride

    def product(self, work: Work, a: np.ndarray | None, b: np.ndarray | None, node: str,
                operator: str) -> tuple[Job, np.ndarray, int]:  # fmt: skip
        """Place a product's operands; return it, the addresses of its result, and its cycles.

        Parameters
        ----------
        a, b : sources of the operands; None: those of the work are constant.
        """
        info, how = self.target.info, work.requantisation
        assert how is not None
        left = work.a if a is None else a
        right = work.b if b is None else b
        assert left is not None
        (m, k), n = left.shape, right.shape[1]
        a_at, lda = self.matrix(left, 8) if a is None else self.rows(node, operator, a)
        b_at, ldb = self.matrix(right, 8) if b is None else self.rows(node, operator, b)
        bias = None if work.bias is None else self.matrix(work.bias[None], info.sums.bits)[0]
        records = self.put(how.records(n).tobytes()) if how.per_column else None
        ldc = self.stride(8, n)
        c = self.room(m * ldc)
        bits = {"a": 8, "b": 8, "c": 8}
        bits |= {"bias": info.sums.bits} if bias is not None else {}
        bits |= {"records": 64} if records is not None else {}
        places = {
            "a": (a_at, lda), "b": (b_at, ldb), "c": (c, ldc), "bias": (bias or 0, 0),
            "records": (records or 0, 0),
        }  # fmt: skip
        blocks, spent = self._blocks(m, n, k, bits, places)
        low, high = how.limits(info.codes)
        job = Job(
            a=a_at, b=b_at, c=c, m=m, n=n, k=k, lda=lda, ldb=ldb, ldc=ldc, bias=bias,
            records=records, requantisation=replace(how, low=low, high=high), block_m=blocks.m,
            block_n=blocks.n, block_k=blocks.k, by_columns=blocks.by_columns,
        )  # fmt: skip
        return job, c + ldc * np.arange(m)[:, None] + np.arange(n), spent

    def _blocks(
        self, m: int, n: int, k: int, bits: dict[str, int], places: Places
    ) -> tuple[Blocks, int]:
        """Return the blocks of a product that take the fewest cycles, and these."""
        stores: Stores = self.target.mode.stores(self.target.info.stores)
        memory = self.memory
        if memory is None:
            chosen = plan(stores, m, n, k, 8)
            return chosen, START + cost(stores, chosen, m, n, k, 8).cycles
        shared = int(self.target.design.parameters["requantisers"]) or stores.tile_n

        def price(blocks: Blocks) -> int:
            return cycles(stores, blocks, m, n, k, bits, places, memory, shared)

        whole = -(-k // stores.tile_k)
        known = candidates(stores, m, n, k)
        # Of shorter parts of K too little was measured.
        long = known[known[:, 2] >= min(whole, _SHORTEST)]
        some = long if len(long) else known
        order = np.argsort(costs(stores, some, m, n, k, 8)[0], kind="stable")
        tried = [Blocks.of(row) for row in some[order[:_TRIED]]]
        best = min(tried, key=price)
        return best, price(best)


def like(sources: np.ndarray) -> np.ndarray | None:
    """Return where codes go, from 0 on, to lie as these do, gaps too; None: they are too far apart.

    Each has to have a place of its own.
    """
    places = sources - sources.min()
    span = int(places.max()) + 1
    if sources.min() < 0 or span > 2 * sources.size or len(np.unique(places)) != sources.size:
        return None
    return places


def _patterns(sources: np.ndarray, row: int) -> tuple[int, np.ndarray]:
    """Write records of rows, those that follow each other and are alike as one pattern.

    Parameters
    ----------
    sources : count x sources of each byte.
    row : bytes of a row.

    Returns
    -------
    The count of patterns, and their words.
    """
    # Bytes whose sources follow each other, within a row, are a record.
    change = (sources[1:] - sources[:-1] != (sources[:-1] >= 0)) | (
        (sources[1:] >= 0) != (sources[:-1] >= 0)
    )
    new = np.concatenate([[True], change.any(axis=1)])
    new[::row] = True
    starts = np.flatnonzero(new)
    lengths = np.diff(np.append(starts, len(sources)))
    first = sources[starts]
    bounds = np.searchsorted(starts, np.arange(0, len(sources), row))
    counts = np.diff(np.append(bounds, len(starts)))
    heads, repeats, steps = [0], [1], [0]
    for place, step in enumerate(_steps(lengths, first, bounds, counts).tolist(), 1):
        if step != _UNLIKE and (repeats[-1] == 1 or step == steps[-1]):
            repeats[-1], steps[-1] = repeats[-1] + 1, step
        else:
            for own, value in ((heads, place), (repeats, 1), (steps, 0)):
                own.append(value)
    records = np.concatenate([lengths[:, None], first], axis=1)
    words: list[np.ndarray] = []
    for head, repeat, step in zip(heads, repeats, steps, strict=True):
        begin, count = bounds[head], counts[head]
        words += [np.array([repeat, step, count]), records[begin : begin + count].ravel()]
    return len(heads), np.concatenate(words)


_UNLIKE = 1 << 40


def _steps(
    lengths: np.ndarray, first: np.ndarray, bounds: np.ndarray, counts: np.ndarray
) -> np.ndarray:
    """Return what is added to the addresses of each row but the last to make those of the next.

    Or `_UNLIKE`, if that is not the same for all, or the rows are unlike otherwise.
    """
    found = np.full(len(bounds) - 1, _UNLIKE)
    for count in np.unique(counts).tolist():
        rows = np.flatnonzero((counts[:-1] == count) & (counts[1:] == count))
        if not rows.size:
            continue
        one, other = (bounds[rows + more][:, None] + np.arange(count) for more in (0, 1))
        known = first[one] >= 0
        apart = np.where(known, first[other] - first[one], 0).reshape(len(rows), -1)
        known_too = first[other] >= 0
        same = (lengths[one] == lengths[other]).all(axis=1)
        same &= (known == known_too).reshape(len(rows), -1).all(axis=1)
        same &= (known | (first[one] == first[other])).reshape(len(rows), -1).all(axis=1)
        flat = known.reshape(len(rows), -1)
        step = apart[np.arange(len(rows)), flat.argmax(axis=1)]
        same &= ((apart == step[:, None]) | ~flat).all(axis=1)
        found[rows[same]] = step[same]
    return found
