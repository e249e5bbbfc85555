"""Jobs as the registers and as descriptors in memory have them."""

from collections.abc import Sequence

from .job import FACTOR_BITS, RECORD_BYTES, TABLE_BYTES, Job
from .maps import map_word
from .operations import DEPTHWISE, HIGH, MAPS, OTHERS, PLACE_BYTES, SECOND
from .registers import FIELDS, JOB, JOB_BYTES, OPERATIONS
from .window import Window

__all__ = [
    "descriptor",
    "descriptors",
    "window_of",
    "window_words",
    "written",
]


_STRIDES = ("lda", "ldb", "ldc", "ldsa", "ldsb")
_AS_GIVEN = ("m", "n", "k", *_STRIDES, "block_m", "block_n", "block_k")


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
    for name in _AS_GIVEN:
        put(name, getattr(job, name))
    if job.vector in MAPS:
        for name, factor, zero in zip(("ldsa", "ldsb"), job.factors, job.zeros, strict=True):
            put(name, map_word(factor, zero))
    for name in ("a_format", "b_format", "accumulate", "c_bytes", "table", "packed"):
        put(f"mode_{name}", int(getattr(job, name)))
    put("mode_order", int(job.by_columns))
    put("mode_listed", int(job.places is not None or job.vector in HIGH))
    put_address("a_scales", job.places or 0)
    put("low", job.least)
    if job.window is not None:
        put("mode_window", 1)
        for name, value in zip(WINDOW_FIELDS, window_words(job.window), strict=True):
            put(name, value)
    if job.vector is not None:
        put("mode_vector", OPERATIONS[OTHERS.get(job.vector, job.vector)])
    beside = job.row_factors if job.bias is None else job.bias
    if beside is not None:
        put("mode_bias", 1)
        put_address("bias", beside)
    put("multiplier", job.seed)
    how = job.requantisation
    put("mode_requantise", int(job.encode or how is not None))
    if how is not None:
        put("mode_relu", int(how.relu))
        if how.low is None or how.high is None:
            raise ValueError("low and high must be given in a job")
        put("low", how.low)
        put("high", how.high)
        if job.records is not None:
            put_address("requant", job.records)
        if job.records is not None and job.vector not in MAPS:
            put("mode_per_column", 1)
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
    first, image = 0, bytearray(b"".join(images))
    for number in range(1, len(jobs) + 1):
        if (
            number < len(jobs)
            and number - first <= _ALIKE_MOST
            and images[number][_same(jobs[first]) :] == images[first][_same(jobs[first]) :]
            and not any(
                _meet(places[number], places[before])
                for before in range(max(first, number - _AHEAD), number)
            )
        ):
            continue
        at = first * JOB_BYTES + FIELDS["job_alike"][0] - JOB
        image[at : at + 4] = (number - first - 1).to_bytes(4, "little")
        first = number
    return bytes(image)


def window_words(window: Window) -> list[int]:
    """Write the words of a window.

    Raises
    ------
    ValueError
        It is none, or a number does not fit.
    """
    if not (window.sized and window.described):
        raise ValueError(f"window must be of steps of 0..15 and of sizes of a map, not {window}")
    (down, across), (top, left) = window.kernel, window.first
    steps = (*window.strides, *window.dilations)
    return [
        window.height - 1 | window.width - 1 << 16,
        window.across - 1 | window.channels << 16,
        down - 1 | across - 1 << 8 | (-top & 255) << 16 | (-left & 255) << 24,
        sum(step << 4 * position for position, step in enumerate(steps)) | window.fill << 16,
        window.pixel,
    ]


def window_of(words: Sequence[int]) -> Window:
    """Read the words of a window back."""
    size, along, kernel, steps, pixel = words
    step = [steps >> 4 * position & 15 for position in range(4)]
    return Window(
        height=(size & 0xFFFF) + 1,
        width=(size >> 16) + 1,
        across=(along & 0xFFFF) + 1,
        channels=along >> 16,
        pixel=pixel,
        kernel=((kernel & 255) + 1, (kernel >> 8 & 255) + 1),
        strides=(step[0], step[1]),
        dilations=(step[2], step[3]),
        first=(-(kernel >> 16) & 255, -(kernel >> 24) & 255),
        fill=steps >> 16 & 255,
    )


WINDOW_FIELDS = ("a_scales_lo", "a_scales_hi", "b_scales_lo", "b_scales_hi", "ldsa")
"""Fields that have a window's words."""


def _same(job: Job) -> int:
    """Return the byte of a descriptor from which on jobs that may overlap are the same."""
    return FIELDS["job_m" if job.window is None else "job_a_scales_lo"][0] - JOB


_MOST_ENTRIES = 16
"""Bytes of a table of numbers of B."""
_AHEAD = 3
"""Jobs that may be under way besides one."""
_ALIKE_MOST = 0xFFFF

_Range = tuple[int, int]


def written(job: Job) -> _Range:
    """Return where C is: its first byte, and the one behind its last row."""
    return job.c, job.c + (job.n if job.vector == "transpose" else job.m) * job.ldc


def _places(job: Job, sum_bytes: int) -> tuple[_Range, list[_Range]]:
    """Return where C is, and all that is read; no less than that."""

    def rows(address: int, count: int, distance: int) -> _Range:
        return address, address + count * distance

    c = written(job)
    table = job.vector == "gather"
    of_a = job.k if table else job.m if job.window is None else job.window.height
    read = [rows(job.a, of_a, job.lda)]
    one = job.vector == DEPTHWISE
    of_b = 1 if job.packed else job.k
    read.append(rows(job.b, of_b, 1 if one else job.ldb))
    if job.places is not None and job.ldsa:
        read.append((job.b, job.b + (job.ldsb - 1) * job.ldsa + of_b * job.ldb))
    if job.vector in (*SECOND, *MAPS, "blend") or table:
        codes = job.n * (job.a_format + 1)
        row = {"scale": 1, "gather": 4, "blend": 2 * codes}.get(job.vector or "", codes)
        read.append((job.b, job.b + (job.m - 1) * job.ldb + row))
    if job.places is None:
        # Powers of groups are groups x M: a group has one beat of K or more.
        of_groups = -(-job.k // max(job.block_k, 1)) if job.ldsb else 0
        read.append(rows(job.a_scales, max(job.m, of_groups), job.ldsa))
        read.append(rows(job.b_scales, job.k, job.ldsb))
    if job.b_scales and not job.ldsb:
        read.append((job.b_scales, job.b_scales + _MOST_ENTRIES))
    if job.bias is not None:
        read.append((job.bias, job.bias + job.n * sum_bytes))
    if job.row_factors is not None:
        read.append((job.row_factors, job.row_factors + job.m * FACTOR_BITS // 8))
    if job.places is not None:
        read.append((job.places, job.places + (job.k + 1) * PLACE_BYTES))
    if job.records is not None:
        records = job.n * RECORD_BYTES * (job.vector not in MAPS)
        read.append((job.records, job.records + records + TABLE_BYTES * job.table))
    return c, [*read, c] if job.accumulate else read


def _meet(one: tuple[_Range, list[_Range]], other: tuple[_Range, list[_Range]]) -> bool:
    """Return whether one job reads what the other one writes."""
    return any(
        written[0] < span[1] and span[0] < written[1]
        for written, read in ((one[0], other[1]), (other[0], one[1]))
        for span in read
    )
