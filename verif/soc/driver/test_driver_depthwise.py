"""Depthwise jobs: both drivers against the golden model."""

import ctypes
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from carrysave.driver import Coprocessor, Requantisation, descriptor, descriptors
from carrysave.driver.job import Job as DriverJob
from carrysave.sim.cocotb.device_memory import Pool
from golden.npe.vector import VectorUnitSpec
from golden.soc.coprocessor import CoprocessorSpec, coprocessor
from golden.soc.job import Error, Job
from golden.soc.job_check import error_of, matrices
from golden.tpe.systolic_os import SystolicOsSpec
from verif.soc.benches.depthwise import any_depthwise, wrong_depthwise
from verif.soc.driver import c_driver
from verif.soc.driver.driver_rig import RNG
from verif.soc.driver.software_device import SoftwareDevice, decode
from verif.soc.driver.test_driver_windows import alike
from verif.soc.driver.windows import STORES
from verif.soc.uvm.orders import moved

SPEC = CoprocessorSpec(
    engine=SystolicOsSpec(m=4, n=4),
    vector=VectorUnitSpec(operations="scale", lanes=4, length=256),
    windows=True,
    taps=3,
    address_width=32,
    **STORES,
)
STATUS = {
    Error.NONE: 0,
    Error.DIMENSION: 8,
    Error.MODE: 10,
    Error.LEADING_DIMENSION: 11,
    Error.WRAPS: 12,
    Error.BLOCKS: 13,
    Error.LONG_ROW: 17,
    Error.WINDOW: 20,
}
"""The C driver's word for an error."""


def c_device(library: Any, spec: CoprocessorSpec) -> c_driver.CDevice:
    device = SoftwareDevice(spec, np.zeros(64, np.uint8))
    return c_driver.CDevice(library, device, Pool(device.memory, RNG(0), manual=True))


def of_driver(job: Job) -> DriverJob:
    """Return a job as the drivers have it, whose scale is one number each."""
    how = job.requantisation
    if how is None:
        return DriverJob(**vars(job))
    scale: Any = {
        name: int(getattr(how, name)[0]) for name in ("multiplier", "shift", "zero_point")
    }
    made = Requantisation(**scale, low=how.low, high=how.high, relu=how.relu)
    return DriverJob(**{**vars(job), "requantisation": made})


def test_what_is_wrong_with_depthwise_jobs(library: Any) -> None:
    """Golden and the C driver say the same; so they do of jobs that are changed at random."""
    device, plain = c_device(library, SPEC), c_device(library, replace(SPEC, windows=False))
    good, wrong = wrong_depthwise(SPEC, RNG(1), 1 << SPEC.address_width)
    for error, job in [(Error.NONE, good), *wrong]:
        made = of_driver(job)
        assert error_of(SPEC, job) is error, job
        assert device.call("check", ctypes.byref(c_driver.CJob.of(made))) == STATUS[error], job
    made = of_driver(good)
    assert plain.call("check", ctypes.byref(c_driver.CJob.of(made))) == STATUS[Error.MODE]
    rng, seen = RNG(2), set()
    for _ in range(400):
        job = any_depthwise(SPEC, rng)
        assert job.window is not None
        changes: dict[str, Any] = {
            "kernel": tuple(rng.integers(1, 30, 2).tolist()),
            "across": int(rng.integers(1, 70)),
            "width": int(rng.integers(1, 200)),
            "dilations": tuple(rng.integers(1, 16, 2).tolist()),
        }
        name = str(rng.choice(list(changes)))
        window = replace(job.window, **{name: changes[name]})
        job = replace(job, window=window, k=window.codes, lda=window.row_bytes)
        error = error_of(SPEC, job)
        seen.add(error)
        made = of_driver(job)
        assert device.call("check", ctypes.byref(c_driver.CJob.of(made))) == STATUS[error], job
    assert seen == {Error.NONE, Error.BLOCKS}


def test_drivers_write_depthwise_jobs_in_the_same_way(library: Any) -> None:
    """A job is the same when it is read back; those that meet do not overlap."""
    rng, device = RNG(3), c_device(library, SPEC)
    for _ in range(60):
        job = any_depthwise(SPEC, rng)
        made = of_driver(job)
        device.c_job(made)
        given = job.requantisation
        assert given is not None
        back = decode(descriptor(made))[0]
        how = back.requantisation
        assert how is not None
        assert replace(back, requantisation=given) == job
        assert (how.low, how.high, how.relu) == (given.low, given.high, given.relu)
    first = replace(any_depthwise(SPEC, rng), a=0, b=5000, c=20000, bias=None, records=None)
    free = matrices(SPEC, first)["c"].end + 64
    for other, wanted in ((first.b, [1, 0]), (free, [0, 0])):
        # The second job's weights are the first one's, or what that one writes.
        ring = [replace(first, c=free), replace(first, b=other, c=40000)]
        made_ring = [of_driver(job) for job in ring]
        assert alike(descriptors(made_ring, SPEC.sum_bytes)) == wanted
        images = b"".join(map(descriptor, made_ring))
        place = ctypes.create_string_buffer(images, len(images))
        many = (c_driver.CJob * 2)(*map(c_driver.CJob.of, made_ring))
        device.call("mark_alike", many, 2, place)
        assert alike(place.raw) == wanted


@pytest.mark.parametrize("driver", [Coprocessor, c_driver.CDevice])
def test_drivers_run_depthwise_jobs(library: Any, driver: Any) -> None:
    rng = RNG(4)
    memory = rng.integers(0, 256, 1 << 17, np.uint8)
    pool = Pool(memory, rng, manual=driver is not Coprocessor)
    buffer = pool((1 << 16,))
    base = buffer.device_address
    buffer[:] = memory[base : base + (1 << 16)]
    given = [SoftwareDevice(SPEC, memory), pool]
    device = driver(*([library] * (driver is not Coprocessor)), *given)
    assert "taps" in device.info.features
    assert "depthwise" in device.info.vector.operations
    for _ in range(8):
        job: Job = moved(any_depthwise(SPEC, rng), base)
        how = job.requantisation
        assert how is not None
        job = replace(job, requantisation=replace(how, low=-128, high=127))
        wanted = memory.copy()
        assert coprocessor(SPEC, wanted, job) is Error.NONE
        device.run_jobs([of_driver(job)])
        assert np.array_equal(memory, wanted)


def test_a_depthwise_job_is_none_of_rows() -> None:
    memory = np.zeros(1 << 14, np.uint8)
    device = Coprocessor(SoftwareDevice(SPEC, memory), Pool(memory, RNG(5)))
    a = device.empty((3, 8), device.info.a)
    with pytest.raises(ValueError, match="operation must be of rows, not depthwise"):
        device.vector("depthwise", a)
