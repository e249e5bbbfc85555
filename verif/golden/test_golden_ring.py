"""Times of rings: runs of windows are what a window reads; what is left out takes what is said."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from golden.soc import ring_maps, ring_marks
from golden.soc.bus import BusSpec
from golden.soc.job import Job
from golden.soc.memory_timing import TO_ADDRESS, MemoryTiming
from golden.soc.ring_bus import RingBus, Rows
from golden.soc.ring_cycles import RingJob, ring_ends
from golden.soc.spec import CoprocessorSpec
from golden.soc.window import Window, window_rows
from golden.soc.window_runs import WindowRuns
from hw.catalog import Design

PARAMETERS = {
    "engine": "systolic_os(m=8,n=8)",
    "data_width": "64",
    "windows": "true",
    "taps": "3",
    "vector": "vector_unit(lanes=8,length=256,width=16)",
}
SPEC = Design.parse("coprocessor", PARAMETERS).spec
assert isinstance(SPEC, CoprocessorSpec)


def any_window(rng: np.random.Generator) -> Window:
    channels = int(rng.integers(1, 5))
    pixel = channels + int(rng.choice([0, 0, 3]))
    pairs = rng.integers((1, 1, 1, 1, 1, 1, 0, 0), (6, 6, 4, 4, 3, 3, 4, 4)).tolist()
    return Window(
        height=pairs[0], width=pairs[1], across=int(rng.integers(1, 7)), channels=channels,
        pixel=pixel, kernel=(pairs[2], pairs[3]), strides=(pairs[4], pairs[5]),
        dilations=(1, int(rng.integers(1, 3))), first=(pairs[6], pairs[7]), fill=255,
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(100))
def test_runs_are_what_windows_read(seed: int) -> None:
    """Joined they are the window; no two of fill, or that follow each other, are apart."""
    rng = np.random.default_rng(seed)
    window = any_window(rng)
    lda = window.row_bytes + int(rng.integers(0, 4))
    memory = np.arange(window.height * lda, dtype=np.uint8) % 251
    image = np.stack([memory[y * lda :][: window.row_bytes] for y in range(window.height)])
    count = 12
    rows = window_rows(window, image, count)
    first = int(rng.integers(window.taps))
    taps = range(first, int(rng.integers(first, window.taps)) + 1)
    runs = WindowRuns(window, lda)
    for number in range(count):
        every = list(runs.of(number, taps))
        made = [
            np.full(run.bytes, window.fill, np.uint8)
            if run.first is None
            else memory[run.first : run.first + run.bytes]
            for run in every
        ]
        codes = rows[number, taps.start * window.channels : taps.stop * window.channels]
        np.testing.assert_array_equal(np.concatenate(made), codes)
        assert [run.end for run in every] == [
            sum(one.bytes for one in every[: at + 1]) // window.channels for at in range(len(every))
        ]
        assert not any(one.first is other.first is None for one, other in pairwise(every))


@pytest.mark.parametrize("size", [3, 8, 40, 100, 600])
@pytest.mark.parametrize("latency", [3, 61])
def test_rows_that_are_left_out_come_as_if_they_were_not(size: int, latency: int) -> None:
    spec = BusSpec(data_width=64)
    one, other = RingBus(spec, latency), RingBus(spec, latency)
    time, came = one.read_rows(5, Rows(0, 1024, 300, size))
    at, each = 5, []
    for number in range(300):
        at = max(at + 1, other.room)
        each.append(other.read(at, 1024 * number, size))
    assert (time, came) == (at, each)
    assert one.read(time, 0, 8) == other.read(at, 0, 8)
    # A beat a cycle, and as many bursts under way as there may be.
    beats = -(-size // 8)
    assert came[-1] - came[100] >= 199 * max(beats, min(latency, 64) / spec.outstanding)


def memory(latency: int, beat: int = 1) -> MemoryTiming:
    """Return a memory by cycles from an address to its first beat, and of a beat."""
    return MemoryTiming(latency=latency + TO_ADDRESS, bytes=SPEC.bytes // beat)


def product(m: int, k: int, n: int) -> Job:
    return Job(
        a=0, b=1 << 20, c=1 << 21, m=m, n=n, k=k, lda=-(-k // 8) * 8, ldb=-(-n // 8) * 8,
        ldc=-(-n // 8) * 32, block_m=2, block_n=1, block_k=k,
    )  # fmt: skip


MAP = Window(
    height=40, width=40, across=40, channels=3, pixel=3, kernel=(3, 3), first=(1, 1), fill=0
)
JOBS = {
    "rows": product(1600, 24, 8),
    "parts of K": replace(product(64, 640, 16), block_k=16),
    "windows": replace(product(1600, 27, 8), lda=120, window=MAP, block_k=9),
    "maps": replace(product(1600, 0, 24), vector="map_add", lda=24, ldb=24, ldc=24),
}


@pytest.mark.parametrize("latency", [5, 61])
@pytest.mark.parametrize("name", JOBS)
def test_what_is_left_out_takes_what_the_rest_does(
    name: str, latency: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    ring = [RingJob(JOBS[name]), RingJob(JOBS["rows"]), RingJob(JOBS[name])]
    took = np.diff([0, *ring_ends(SPEC, ring, memory(latency))])
    monkeypatch.setattr(ring_marks, "LEAST", 1 << 20)
    monkeypatch.setattr(ring_maps, "_ALIKE_ROWS", 1 << 20)
    np.testing.assert_allclose(
        took, np.diff([0, *ring_ends(SPEC, ring, memory(latency))]), rtol=0.01
    )


@pytest.mark.parametrize("name", JOBS)
def test_memory_that_is_slower_makes_jobs_take_longer(name: str) -> None:
    ring = [RingJob(JOBS[name])] * 2
    took = [
        ring_ends(SPEC, ring, memory(latency, beat))[-1]
        for latency, beat in [(5, 1), (61, 1), (61, 4)]
    ]
    assert took == sorted(took)
    assert took[0] < took[2]


def test_jobs_that_are_alike_follow_without_a_check() -> None:
    """Of several only addresses are read; what each takes falls to that of its rows."""
    job = replace(JOBS["maps"], m=4)
    plain, alike = (
        ring_ends(SPEC, [RingJob(job), *[RingJob(job, alike=how)] * 8], memory(5))
        for how in (False, True)
    )
    assert alike[-1] < plain[-1]
    assert len({b - a for a, b in pairwise(alike[2:-1])}) == 1


def test_products_that_are_alike_wait_for_checks_of_their_matrices_alone() -> None:
    """Seven beats of addresses, nine cycles, and what five matrices of few rows take."""
    job = RingJob(product(4, 1, 8), alike=True)
    ends = ring_ends(SPEC, [job._replace(alike=False), *[job] * 8], memory(7))
    assert {b - a for a, b in pairwise(ends[1:-1])} == {7 + 9 + 4 + 3 + 4 + 3 + 3}


def test_a_vector_job_takes_what_it_is_said_to() -> None:
    """And a product behind it is loaded while it runs, but for what it writes."""
    rows = replace(JOBS["maps"], vector="softmax", c=1 << 22)
    after = product(8, 8, 8)
    short, long = (
        ring_ends(SPEC, [RingJob(rows, took), RingJob(after)], memory(20)) for took in (500, 1500)
    )
    assert long[0] - short[0] == long[1] - short[1] == 1000
    written = replace(after, b=rows.c)
    later = ring_ends(SPEC, [RingJob(rows, 500), RingJob(written)], memory(20))
    assert later[0] == short[0]
    assert later[1] > short[1]
