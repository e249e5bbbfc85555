"""Memory of a program before it runs: what is where, and the steps."""

from dataclasses import dataclass, field, replace

import numpy as np

from carrysave.compiler.program.buffers import Buffer, packed
from carrysave.compiler.program.floats import SectionStep
from carrysave.compiler.program.groups import JobGroup, appended
from carrysave.compiler.program.loops import looped
from carrysave.compiler.program.pool import Pool
from carrysave.compiler.program.steps import Move, Start
from carrysave.compiler.program.words import JOBS
from carrysave.compiler.target.target import Target
from carrysave.compiler.timing.golden_job import CHIP
from carrysave.driver import Requantisation
from carrysave.driver.job import Job

__all__ = ["COUNTERS", "DESCRIPTOR", "Image", "code_of"]

COUNTERS = 56
"""Bytes of the driver's carrysave_counters."""
DESCRIPTOR = 128
"""Bytes of a job for the hardware."""
_ALIGN = 16
_CONSTANT = -256
"""Added to a code that a move takes as it is."""


@dataclass
class Image:
    """Memory that is filled bit by bit; addresses are from its start.

    Members
    -------
    target : the co-processor.
    most : bytes that it may have.
    parts : bytes, by address.
    end : behind the last byte in use.
    steps : of the program so far.
    buffers : by name.
    pool : of rooms that are needed for a while.
    """

    target: Target
    most: int = 1 << 31
    parts: dict[int, bytes] = field(default_factory=dict)
    end: int = 0
    steps: list[SectionStep] = field(default_factory=list)
    buffers: dict[str, Buffer] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Have a pool for what is needed for a while."""
        self.pool = Pool(self.room, lambda: len(self.steps))
        self._shared: dict[bytes, int] = {}
        self._constants: dict[tuple[bytes, int, int], Buffer] = {}

    def room(self, size: int, align: int = _ALIGN) -> int:
        """Return the address of so many free bytes, a multiple of a power of two.

        Raises
        ------
        ValueError
            There are no more.
        """
        at = -(-self.end // align) * align
        self.end = -(-(at + size) // _ALIGN) * _ALIGN
        if self.end > self.most:
            raise ValueError(f"the program must take {self.most:,} bytes of memory, not more")
        return at

    def put(self, data: bytes) -> int:
        """Place bytes; return their address."""
        at = self.room(len(data))
        self.parts[at] = data
        return at

    def shared(self, data: bytes) -> int:
        """Place bytes that others may have, too; return their address."""
        if data not in self._shared:
            self._shared[data] = self.put(data)
        return self._shared[data]

    def stride(self, bits: int, columns: int) -> int:
        """Return the bytes of a row in whole beats."""
        beat = self.target.info.stores.data_width // 8
        return -(-(columns * bits) // (8 * beat)) * beat

    def reserve(
        self, name: str, rows: int, columns: int, bits: int, *, stride: int | None = None,
        chip: int | None = None, lasting: bool = True,
    ) -> Buffer:  # fmt: skip
        """Make room for a buffer.

        Parameters
        ----------
        name : of the buffer; if there is one of the name, a number is behind it.
        rows, columns, bits : its codes.
        stride : bytes from a row to the next; None: rows follow each other.
        chip : the first byte on chip that it takes, one buffer's until a job writes another one
            there; None: it is in memory.
        lasting : its room is its own; else it is of the pool, which may give it to others later.

        Raises
        ------
        ValueError
            There is no such room.
        """
        stride = columns * bits // 8 if stride is None else stride
        size, known = rows * stride, self.target.spec.scratch
        if chip is not None and not 0 <= chip <= chip + size <= known:
            raise ValueError(
                f"buffer {name!r} must be within the {known} bytes on chip, not"
                f" {chip}..{chip + size}"
            )
        take = self.room if lasting else self.pool.take
        address = take(size) if chip is None else CHIP + chip
        number = 1
        while (unused := f"{name}.{number}" if number > 1 else name) in self.buffers:
            number += 1
        self.buffers[unused] = Buffer(
            name=unused, address=address, rows=rows, columns=columns, bits=bits, stride=stride
        )
        if chip is None and not lasting:
            self.pool.name(address, unused)
        return self.buffers[unused]

    def place(self, name: str, codes: np.ndarray, bits: int, stride: int | None = None) -> Buffer:
        """Place codes, rows x columns; see :meth:`reserve`.

        Raises
        ------
        ValueError
            Codes that do not fit.
        """
        rows = np.ascontiguousarray(packed(name, codes, bits)).view(np.uint8)
        buffer = self.reserve(name, len(codes), codes.shape[1], bits, stride=stride)
        if buffer.stride > buffer.row_bytes:
            rows = np.pad(rows, [(0, 0), (0, buffer.stride - buffer.row_bytes)])
        self.parts[buffer.address] = rows.tobytes()
        return buffer

    def aligned(self, name: str, codes: np.ndarray, bits: int) -> Buffer:
        """Place codes, each row in whole beats."""
        return self.place(name, codes, bits, self.stride(bits, codes.shape[1]))

    def known(self, name: str, codes: np.ndarray, bits: int) -> Buffer:
        """Place codes that no step changes, each row in whole beats: the same ones once."""
        key = np.asarray(codes, np.int64).tobytes(), codes.shape[1], bits
        if key not in self._constants:
            self._constants[key] = self.aligned(name, codes, bits)
        return self._constants[key]

    def records(
        self, name: str, how: Requantisation | None, columns: int, count: int = 1
    ) -> Buffer | None:
        """Place how columns are requantised, if that is not the same for all; tables behind them.

        Parameters
        ----------
        columns, count : of a product, and how many there are. Records of all follow each other; or
            those of each are a row, with a table.
        """
        if how is None or not how.recorded:
            return None
        codes = how.records(count * columns).view("<i8").reshape(1, -1)
        if how.table is not None:
            table = np.frombuffer(how.table, "<i8")
            codes = np.hstack([codes.reshape(count, -1), np.tile(table, (count, 1))])
        return self.known(f"{name}.records", codes, 64)

    def start(
        self, node: str, operator: str, jobs: Job | JobGroup, *, macs: int | None = None
    ) -> None:
        """Have jobs run, on one start with those before them of the same node.

        What they take is known when all steps are, see :func:`.ring_cost.in_rings`.

        Parameters
        ----------
        macs : products of codes that the model needs; None: all of the job.
        """
        group = jobs if isinstance(jobs, JobGroup) else JobGroup(job=jobs)
        job = group.job
        if macs is None:
            macs = 0 if job.vector is not None else group.count * job.m * job.k * job.n
        last = self.steps[-1] if self.steps else None
        if (
            isinstance(last, Start)
            # A node's rooms are not there before it: no step of it may be that of the one before.
            and len(self.steps) > self.pool.begun
            and (last.node, last.operator) == (node, operator)
            and (joined := self._joined(last, group)) is not None
        ):
            self.steps[-1] = replace(joined, macs=last.macs + macs)
            return
        self.steps.append(Start(
            node=node, operator=operator, groups=(group,), macs=macs, counters=self.room(COUNTERS),
            cycles=0,
        ))  # fmt: skip

    def _joined(self, last: Start, group: JobGroup) -> Start | None:
        """Return a start with more jobs: those that go on with its last group, or a few."""
        groups = appended(last.groups, group)
        if len(groups) > len(last.groups) and len(last.jobs) + group.count > JOBS:
            return None
        return replace(last, groups=groups)

    def constant(self, codes: np.ndarray) -> np.ndarray:
        """Return the sources of codes that are known."""
        return codes + _CONSTANT

    def move(
        self, node: str, operator: str, sources: np.ndarray, table: bytes = b"", row: int = 0,
        *, reason: str,
    ) -> int:  # fmt: skip
        """Have bytes moved; return the address of the first.

        Parameters
        ----------
        node, operator : for which.
        sources : count x sources of each byte: addresses of codes, or those of :meth:`constant`.
        table : codes by the code of the source, or by those of two, the first one's in the upper
            byte, each as it is in memory, without a sign; empty: the greatest of the sources.
        row : bytes of a row, if sources are of rows that may be alike; 0: they are not.
        reason : why no job does it.
        """
        count, taps = sources.shape
        rows = count // row if row else 1
        to = self.reserve(f"{node}.moved", rows, count // rows, 8, lasting=False).address
        self.pool.see(sources)
        self.pool.see(np.array([to]))
        words = looped(sources, row or count)
        self.steps.append(Move(
            node=node, operator=operator, to=to, bytes=count, taps=taps, words=len(words),
            at=self.put(words.astype("<i4").tobytes()), table=self.shared(table) if table else 0,
            reason=reason,
        ))  # fmt: skip
        return to


def code_of(source: int) -> int:
    """Return the known code of a source; see :meth:`Image.constant`."""
    return source - _CONSTANT
