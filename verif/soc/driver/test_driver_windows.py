"""Jobs of windows: both drivers against the golden model."""

import ctypes
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from carrysave.driver import Coprocessor, descriptor, descriptors
from carrysave.driver.job import Job as DriverJob
from carrysave.sim.cocotb.device_memory import Pool
from golden.soc.coprocessor import CoprocessorSpec, coprocessor
from golden.soc.job import Error, Job
from golden.soc.job_check import error_of
from golden.soc.window import Window
from verif.soc.benches.windows import any_window
from verif.soc.driver import c_driver
from verif.soc.driver.driver_rig import RNG
from verif.soc.driver.software_device import SoftwareDevice, decode
from verif.soc.driver.windows import WINDOWS as SPEC
from verif.soc.driver.windows import WINDOWS_ON_CHIP as CUBE
from verif.soc.driver.windows import job_of
from verif.soc.uvm.orders import moved

GOOD = Window(height=5, width=6, across=6, channels=3, pixel=4, kernel=(3, 2), first=(1, 0))


def wrong(job: Job) -> list[tuple[Error, Job]]:
    """List what is wrong with a job, a reason each."""
    assert job.window is not None
    window = job.window

    def of(error: Error, **changes: Any) -> tuple[Error, Job]:
        return error, replace(job, window=replace(window, **changes))

    sizes = ("height", "width", "across")
    end = job.a + (window.height - 1) * job.lda + window.row_bytes
    high = 1 << SPEC.address_width
    return [
        (Error.NONE, job),
        *(of(Error.DIMENSION, **{name: size}) for name in sizes for size in (0, (1 << 16) + 1)),
        *(of(Error.DIMENSION, channels=size) for size in (0, 1 << 16)),
        *(of(Error.DIMENSION, kernel=size) for size in ((0, 2), (3, 0), (257, 2), (3, 257))),
        *(
            of(Error.WINDOW, **{name: steps})
            for name in ("strides", "dilations")
            for steps in ((0, 1), (1, 0), (16, 1), (1, 16))
        ),
        *(of(Error.WINDOW, first=edge) for edge in ((256, 0), (0, 256))),
        of(Error.WINDOW, fill=256),
        of(Error.WINDOW, pixel=window.channels - 1),
        (Error.WINDOW, replace(job, k=job.k + 1)),
        (Error.WINDOW, replace(job, k=job.k - 1)),
        of(Error.LEADING_DIMENSION, pixel=(1 << 32) - 1),
        (Error.LEADING_DIMENSION, replace(job, lda=window.row_bytes - 1)),
        (Error.NONE, replace(job, lda=window.row_bytes)),
        (Error.NONE, replace(job, a=high - (end - job.a))),
        (Error.WRAPS, replace(job, a=high - (end - job.a) + 1)),
        (Error.BLOCKS, replace(job, block_m=0)),
        (Error.BLOCKS, replace(job, block_m=0, block_n=0, block_k=0)),
        (Error.BLOCKS, replace(job, block_k=1000)),
        (Error.BLOCKS, replace(job, block_k=(1 << 32) - 1)),
    ]


def test_what_is_wrong_with_windows(library: Any) -> None:
    """Golden and the C driver say the same."""
    texts = {
        Error.NONE: 0,
        Error.DIMENSION: 8,
        Error.LEADING_DIMENSION: 11,
        Error.WRAPS: 12,
        Error.BLOCKS: 13,
        Error.WINDOW: 20,
        Error.MODE: 10,
    }
    pool = Pool(np.zeros(64, np.uint8), RNG(0), manual=True)

    def told(spec: CoprocessorSpec, job: Job) -> int:
        device = c_driver.CDevice(library, SoftwareDevice(spec, np.zeros(64, np.uint8)), pool)
        made = c_driver.CJob.of(DriverJob(**vars(job)))
        return device.call("check", ctypes.byref(made))

    good = job_of(SPEC, RNG(5), GOOD)
    for error, job in wrong(good):
        assert error_of(SPEC, job) == error, job
        assert told(SPEC, job) == texts[error], job
    plain = replace(SPEC, windows=False)
    assert error_of(plain, good) == Error.MODE
    assert told(plain, good) == texts[Error.MODE]
    on_chip = replace(job_of(CUBE, RNG(5), GOOD), a=CUBE.scratch_base - 1)
    assert error_of(CUBE, on_chip) == Error.WRAPS
    assert told(CUBE, on_chip) == texts[Error.WRAPS]


def test_blocks_of_windows_fit_as_the_golden_model_says(library: Any) -> None:
    rng = RNG(6)
    pool = Pool(np.zeros(64, np.uint8), rng, manual=True)
    device = c_driver.CDevice(library, SoftwareDevice(CUBE, np.zeros(64, np.uint8)), pool)
    seen = set()
    for _ in range(300):
        job = job_of(CUBE, rng, any_window(rng))
        sizes = zip(("block_m", "block_n", "block_k"), rng.integers(0, 30, 3).tolist(), strict=True)
        job = replace(job, **{name: size for name, size in sizes if rng.integers(2)})
        error = error_of(CUBE, job)
        seen.add(error)
        status = device.call("check", ctypes.byref(c_driver.CJob.of(DriverJob(**vars(job)))))
        assert status == {Error.NONE: 0, Error.BLOCKS: 13}[error]
    assert len(seen) == 2


def test_drivers_write_windows_in_the_same_way(library: Any) -> None:
    """A job is the same when it is read back; the C driver's description is the Python driver's."""
    rng, device = RNG(7), SoftwareDevice(SPEC, np.zeros(64, np.uint8))
    driver = c_driver.CDevice(library, device, Pool(device.memory, rng, manual=True))
    edges = Window(height=1 << 16, width=1 << 16, across=1 << 16, channels=(1 << 16) - 1,
                   pixel=(1 << 32) - 1, kernel=(256, 256), strides=(15, 14), dilations=(13, 12),
                   first=(255, 254), fill=255)  # fmt: skip
    for window in (edges, *(any_window(rng) for _ in range(100))):
        job = replace(job_of(SPEC, rng, GOOD), window=window, k=123)
        made = DriverJob(**vars(job))
        driver.c_job(made)
        assert decode(descriptor(made))[0] == job
    with pytest.raises(ValueError, match=r"window must be of steps of 0\.\.15"):
        descriptor(replace(made, window=replace(GOOD, strides=(16, 1))))


def alike(images: bytes) -> list[int]:
    """Read how many jobs are said to be like each."""
    return [
        int.from_bytes(images[at + 124 : at + 128], "little") for at in range(0, len(images), 128)
    ]


def test_jobs_that_share_their_windows_may_overlap(library: Any) -> None:
    """Those of another geometry are not alike; and a map is read to its end, not to m rows."""
    good = replace(job_of(SPEC, RNG(8), GOOD), a=0, m=2, c=1000)
    jobs = [replace(good, a=200 * at, c=1000 + 400 * at) for at in range(3)]
    other = replace(GOOD, fill=GOOD.fill + 1)
    meets = replace(jobs[1], c=jobs[0].a + 4 * good.lda)
    for ring, wanted in (
        (jobs, [2, 0, 0]),
        ([jobs[0], replace(jobs[1], window=other), jobs[2]], [0, 0, 0]),
        ([jobs[0], meets], [0, 0]),
    ):
        made = [DriverJob(**vars(job)) for job in ring]
        images = descriptors(made, SPEC.sum_bytes)
        assert alike(images) == wanted
        place = ctypes.create_string_buffer(b"".join(map(descriptor, made)), len(images))
        many = (c_driver.CJob * len(made))(*map(c_driver.CJob.of, made))
        device = SoftwareDevice(SPEC, np.zeros(64, np.uint8))
        driver = c_driver.CDevice(library, device, Pool(device.memory, RNG(9), manual=True))
        driver.call("mark_alike", many, len(made), place)
        assert place.raw == images


@pytest.mark.parametrize("driver", [Coprocessor, c_driver.CDevice])
def test_drivers_run_jobs_of_windows(library: Any, driver: Any) -> None:
    rng = RNG(10)
    memory = rng.integers(0, 256, 1 << 17, np.uint8)
    pool = Pool(memory, rng, manual=driver is not Coprocessor)
    buffer = pool((1 << 16,))
    base = buffer.device_address
    buffer[:] = memory[base : base + (1 << 16)]
    jobs = [moved(job_of(SPEC, rng, any_window(rng)), base) for _ in range(8)]
    given = [SoftwareDevice(SPEC, memory), pool]
    device = driver(*([library] * (driver is not Coprocessor)), *given)
    assert "windows" in device.info.features
    for job in jobs:
        wanted = memory.copy()
        assert coprocessor(SPEC, wanted, job) is Error.NONE
        device.run_jobs([DriverJob(**vars(job))])
        assert np.array_equal(memory, wanted)
