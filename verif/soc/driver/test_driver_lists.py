"""Jobs with lists of places, as descriptors and as words of programs, and back."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from carrysave.compiler.program.groups import JobGroup
from carrysave.compiler.program.words import group_of, group_words
from carrysave.compiler.timing.golden_job import golden_job
from carrysave.driver import CoprocessorError, Requantisation
from carrysave.driver.descriptor import descriptor, descriptors
from carrysave.driver.job import Job
from carrysave.driver.ready import job_of, relocate
from golden.npe.vector import VectorUnitSpec
from golden.soc.coprocessor import CoprocessorSpec, coprocessor, error_of
from golden.tpe.systolic_os import SystolicOsSpec
from verif.soc.driver.driver_rig import BASE, Rig

HOW = Requantisation(multiplier=1 << 20, shift=30, zero_point=3, low=-100, high=100)
PRODUCT = Job(
    a=256,
    b=512,
    c=4096,
    m=1,
    n=8,
    k=16,
    lda=16,
    ldb=8,
    ldc=32,
    places=8192,
    block_m=1,
    block_n=1,
    block_k=4,
)
INDEX = Job(
    a=256,
    b=0,
    c=8192,
    m=3,
    n=16,
    k=0,
    lda=16,
    ldb=0,
    ldc=68,
    vector="index",
    least=40000,
    a_format=1,
)


TOP = Job(
    a=300,
    b=0,
    c=12000,
    m=3,
    n=16,
    k=3,
    lda=32,
    ldb=0,
    ldc=30,
    vector="top_k",
    a_format=1,
)


CHOSEN = replace(PRODUCT, b=600, c=13000, places=12000, ldsa=200, ldsb=16)


@pytest.mark.parametrize(
    "job",
    [PRODUCT, replace(PRODUCT, requantisation=HOW), INDEX, TOP, CHOSEN],
    ids=["sums", "codes", "index", "greatest", "chosen"],
)
def test_a_job_is_read_back(job: Job) -> None:
    assert job_of(descriptor(job)) == job
    (back,) = group_of(group_words(JobGroup(job=job))).jobs
    assert back == job


def test_a_list_moves_with_memory() -> None:
    image = np.frombuffer(descriptor(PRODUCT), np.uint8).copy()
    relocate(image, 1 << 20, 1 << 40)
    moved = job_of(image.tobytes())
    assert moved.places == 8192 + (1 << 20)
    index = np.frombuffer(descriptor(INDEX), np.uint8).copy()
    relocate(index, 1 << 20, 1 << 40)
    assert job_of(index.tobytes()).least == INDEX.least


def test_a_product_waits_for_the_list_that_a_job_before_makes() -> None:
    """Jobs that are alike but for addresses overlap, unless one reads what another writes."""
    apart = [PRODUCT, replace(PRODUCT, c=6000, places=12000)]
    meeting = [PRODUCT, replace(PRODUCT, c=6000, places=PRODUCT.c - 60)]
    alike = [int(descriptors(jobs, 4)[124]) for jobs in (apart, meeting)]
    assert alike == [1, 0]


def test_a_product_waits_for_all_of_its_b() -> None:
    """Any of those among which a place chooses may be what a job before writes."""
    apart = [replace(CHOSEN, c=500), replace(CHOSEN, c=30000)]
    meeting = [replace(CHOSEN, c=CHOSEN.b + 15 * CHOSEN.ldsa), replace(CHOSEN, c=30000)]
    alike = [int(descriptors(jobs, 4)[124]) for jobs in (apart, meeting)]
    assert alike == [1, 0]


UNIT = VectorUnitSpec(operations="silu,sigmoid", lanes=4, length=64, width=16, out_width=15)
SPEC = CoprocessorSpec(
    engine=SystolicOsSpec(m=2, n=4),
    vector=UNIT,
    lists=40,
    blend=True,
    top_k=5,
    sums=256,
    data_width=64,
    a_bytes=512,
    b_bytes=512,
)
GATE = Job(
    a=0,
    b=0,
    c=9000,
    m=2,
    n=9,
    k=0,
    lda=20,
    ldb=0,
    ldc=20,
    vector="sigmoid",
    a_format=1,
    requantisation=Requantisation(multiplier=1 << 15, shift=1, low=0, high=(1 << 14) - 1),
)
BLEND = replace(
    GATE,
    b=1000,
    c=10000,
    ldb=40,
    vector="blend",
    requantisation=Requantisation(multiplier=0, shift=14, low=-30000, high=30000),
)


@pytest.mark.parametrize("job", [GATE, BLEND], ids=["sigmoid", "blend"])
def test_a_job_of_gates_is_read_back(job: Job) -> None:
    assert job_of(descriptor(job)) == job
    (back,) = group_of(group_words(JobGroup(job=job))).jobs
    assert back == job


@pytest.mark.parametrize("language", ["python", "c"])
def test_drivers_run_jobs_of_lists_and_gates(language: str, library: Any) -> None:
    """Lists, products by them, a sigmoid and a blend, one by one and as a ring."""
    made = Rig(language, library, SPEC)
    device, rng = made.open(), np.random.default_rng(3)
    room = made.pool((20000,))
    first = room.device_address - BASE
    room[:] = rng.integers(256, size=len(room))
    made.pool.clean(room.device_address, len(room))
    index = replace(INDEX, a_format=0, m=1, least=60)
    product = replace(PRODUCT, block_m=0, block_n=0, block_k=0)
    chosen = replace(CHOSEN, block_m=0, block_n=0, block_k=0)
    jobs = [index, product, TOP, chosen, GATE, BLEND]
    expected = made.memory[first:][: len(room)].copy()
    for job in jobs:
        assert not coprocessor(SPEC, expected, golden_job(job, SPEC))
    placed = [job_of(_moved(job, room.device_address)) for job in jobs]
    for some in ([placed[0]], placed[1:], placed):
        device.run_jobs(some)
    assert np.array_equal(made.memory[first:][: len(room)], expected)


def _moved(job: Job, by: int = BASE) -> bytes:
    image = np.frombuffer(descriptor(job), np.uint8).copy()
    relocate(image, by, 1 << 60)
    return image.tobytes()


@pytest.mark.parametrize(
    "wrong",
    [
        replace(BLEND, ldb=35),
        replace(BLEND, requantisation=replace(HOW, shift=16)),
        replace(GATE, requantisation=None),
        replace(INDEX, n=41),
        replace(TOP, k=0),
        replace(TOP, k=6, ldc=48),
        replace(TOP, n=2),
        replace(TOP, n=41, lda=82),
        replace(TOP, ldc=21),
        replace(TOP, c_bytes=1),
        replace(INDEX, ldc=67),
        replace(PRODUCT, k=41, lda=41),
        replace(PRODUCT, packed=True),
    ],
    ids=[
        *("factors", "places", "codes", "long index", "no k", "large k", "k beyond", "long row"),
        *("top_k's row", "bytes", "list's row", "K", "packed"),
    ],
)
def test_the_c_driver_refuses(wrong: Job, library: Any) -> None:
    """Before anything is started: what the device would refuse, too."""
    made = Rig("c", library, SPEC)
    device = made.open()
    assert error_of(SPEC, golden_job(wrong, SPEC))
    with pytest.raises(CoprocessorError):
        device.run_jobs([job_of(_moved(wrong))])
    assert not made.hardware.starts
