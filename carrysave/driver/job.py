"""Jobs, laid out as the registers and as descriptors in memory."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from .device_info import SECOND
from .number import Number
from .registers import FIELDS, JOB, JOB_BYTES, OPERATIONS

__all__ = ["RECORD_BYTES", "Job", "Requantisation", "descriptor", "descriptors"]

RECORD_BYTES = 8
"""Bytes of a column's record: multiplier, 4; shift, 1; none, 1; zero point, 2."""

Numbers = int | np.ndarray


@dataclass(frozen=True)
class Requantisation:
    """How sums become codes: clamp(round(sum * multiplier / 2^shift) + zero_point).

    Halves are rounded as the device was built: see `rounding` of :class:`Info`.

    Parameters
    ----------
    multiplier, shift, zero_point : integers; arrays if they are not the same for each column.
    low, high : limits of the codes; None for those of the codes' format.
    relu : raise codes below the zero point to it.
    """

    multiplier: Numbers
    shift: Numbers
    zero_point: Numbers = 0
    low: int | None = None
    high: int | None = None
    relu: bool = False

    @property
    def per_column(self) -> bool:
        """Whether columns differ."""
        return any(np.ndim(value) for value in (self.multiplier, self.shift, self.zero_point))

    def limits(self, codes: Number) -> tuple[int, int]:
        """Smallest and largest code; the format's by default."""
        low = codes.low if self.low is None else self.low
        high = codes.high if self.high is None else self.high
        return low, high

    def check(self, codes: Number, columns: int) -> Number:
        """Refuse unsupported values; return the range of output codes."""
        for name, number in (
            ("multiplier", Number.of(32, FIELDS["job_multiplier"][2], False)),
            ("shift", Number.of(8, FIELDS["job_shift"][2], False)),
            ("zero_point", codes),
        ):
            values = number.check(name, getattr(self, name))
            if values.ndim and values.shape != (columns,):
                raise ValueError(f"{name} must be one or {columns} in a row, not {values.shape}")
        low, high = self.limits(codes)
        codes.check("low", low)
        codes.check("high", high)
        zero = np.asarray(self.zero_point)
        top = max(low, int(zero.max())) if self.relu else low
        if top > high:
            raise ValueError(f"high must be {top} or more, not {high}")
        least = max(low, int(zero.min())) if self.relu else low
        return replace(codes, low=least, high=high)

    def records(self, columns: int) -> np.ndarray:
        """Write the columns' records as in memory: columns x bytes."""
        kind = np.dtype([("m", "<u4"), ("shift", "u1"), ("none", "u1"), ("zero_point", "<i2")])
        found = np.zeros(columns, kind)
        found["m"], found["shift"] = self.multiplier, self.shift
        found["zero_point"] = self.zero_point
        return found.view(np.uint8).reshape(columns, RECORD_BYTES)


@dataclass(frozen=True)
class Job:
    """One product, or vector job: addresses, sizes, row strides in bytes, and options.

    `bias` and `records` are addresses, of sums and of requantisations of columns, None without.
    `encode` rounds sums to the engine's result format; `a_scales`, `b_scales`, `ldsa`, `ldsb` are
    addresses and strides of block scales, if the engine has them.
    Blocks of C are block_m x block_n tiles and block_k beats; 0 leaves that to the hardware.

    With `vector`, the name of an operation, each of m rows of n codes of A, of a_format + 1 bytes
    each, becomes a row of C; all else is 0 or None, but for operations that requantise, and for the
    rows of B of those that take two; one row for all if ldb is 0. Rows of B of a scale are a byte.

    `c_bytes` are those of a code of C, where jobs choose; 0 otherwise.
    """

    a: int
    b: int
    c: int
    m: int
    n: int
    k: int
    lda: int
    ldb: int
    ldc: int
    bias: int | None = None
    requantisation: "Requantisation | None" = None
    records: int | None = None
    encode: bool = False
    accumulate: bool = False
    a_format: int = 0
    b_format: int = 0
    a_scales: int = 0
    b_scales: int = 0
    ldsa: int = 0
    ldsb: int = 0
    block_m: int = 0
    block_n: int = 0
    block_k: int = 0
    by_columns: bool = False
    vector: str | None = None
    c_bytes: int = 0


def descriptor(job: Job) -> bytes:
    """Write a job as in memory; also the image of the registers from `JOB` on.

    Raises
    ------
    ValueError
        A number does not fit its field.
    """
    words = [0] * (JOB_BYTES // 4)

    def put(name: str, value: int) -> None:
        address, low, width = FIELDS[f"job_{name}"]
        if not -(1 << width - 1) <= value < 1 << width:
            raise ValueError(f"{name} must be of {width} bits, not {value}")
        words[(address - JOB) // 4] |= (value & ((1 << width) - 1)) << low

    def put_address(name: str, value: int) -> None:
        put(f"{name}_lo", value & 0xFFFFFFFF)
        put(f"{name}_hi", value >> 32)

    for name in ("a", "b", "c", "a_scales", "b_scales"):
        put_address(name, getattr(job, name))
    for name in (
        "m",
        "n",
        "k",
        "lda",
        "ldb",
        "ldc",
        "ldsa",
        "ldsb",
        "block_m",
        "block_n",
        "block_k",
    ):
        put(name, getattr(job, name))
    for name in ("a_format", "b_format", "accumulate"):
        put(f"mode_{name}", int(getattr(job, name)))
    put("mode_order", int(job.by_columns))
    put("mode_c_bytes", job.c_bytes)
    if job.vector is not None:
        put("mode_vector", OPERATIONS[job.vector])
    if job.bias is not None:
        put("mode_bias", 1)
        put_address("bias", job.bias)
    how = job.requantisation
    put("mode_requantise", int(job.encode or how is not None))
    if how is not None:
        put("mode_relu", int(how.relu))
        if how.low is None or how.high is None:
            raise ValueError("low and high must be given in a job")
        put("low", how.low)
        put("high", how.high)
        if job.records is not None:
            put("mode_per_column", 1)
            put_address("requant", job.records)
        else:
            for name in ("multiplier", "shift", "zero_point"):
                put(name, int(getattr(how, name)))
    return b"".join(word.to_bytes(4, "little") for word in words)


def descriptors(jobs: Sequence[Job], sum_bytes: int) -> bytes:
    """Write jobs as in memory, one after the other, those marked that may overlap.

    Those differ only in their addresses, and of any four successive ones none reads what another
    one writes.
    """
    images = [descriptor(job) for job in jobs]
    places = [_places(job, sum_bytes) for job in jobs]
    size = FIELDS["job_m"][0] - JOB
    first, found = 0, bytearray(b"".join(images))
    for number in range(1, len(jobs) + 1):
        if (
            number < len(jobs)
            and number - first <= _ALIKE_MOST
            and images[number][size:] == images[first][size:]
            and not any(
                _meet(places[number], places[before])
                for before in range(max(first, number - _AHEAD), number)
            )
        ):
            continue
        at = first * JOB_BYTES + FIELDS["job_alike"][0] - JOB
        found[at : at + 4] = (number - first - 1).to_bytes(4, "little")
        first = number
    return bytes(found)


_AHEAD = 3
"""Jobs that may be under way besides one."""
_ALIKE_MOST = 0xFFFF

_Range = tuple[int, int]


def _places(job: Job, sum_bytes: int) -> tuple[_Range, list[_Range]]:
    """Return where C is, and all that is read; no less than that."""

    def rows(address: int, count: int, distance: int) -> _Range:
        return address, address + count * distance

    c = rows(job.c, job.n if job.vector == "transpose" else job.m, job.ldc)
    table = job.vector == "gather"
    read = [rows(job.a, job.k if table else job.m, job.lda), rows(job.b, job.k, job.ldb)]
    if job.vector in SECOND or table:
        row = {"scale": 1, "gather": 4}.get(job.vector or "", job.n * (job.a_format + 1))
        read.append((job.b, job.b + (job.m - 1) * job.ldb + row))
    read += [rows(job.a_scales, job.m, job.ldsa), rows(job.b_scales, job.k, job.ldsb)]
    if job.bias is not None:
        read.append((job.bias, job.bias + job.n * sum_bytes))
    if job.records is not None:
        read.append((job.records, job.records + job.n * RECORD_BYTES))
    return c, [*read, c] if job.accumulate else read


def _meet(one: tuple[_Range, list[_Range]], other: tuple[_Range, list[_Range]]) -> bool:
    """Tell whether one job reads what the other one writes."""
    return any(
        written[0] < place[1] and place[0] < written[1]
        for written, read in ((one[0], other[1]), (other[0], one[1]))
        for place in read
    )
