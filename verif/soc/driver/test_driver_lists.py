"""Jobs with lists of places, as descriptors and as words of programs, and back."""

from dataclasses import replace

import numpy as np
import pytest

from carrysave.compiler.program.groups import JobGroup
from carrysave.compiler.program.words import group_of, group_words
from carrysave.driver import Requantisation
from carrysave.driver.descriptor import descriptor, descriptors
from carrysave.driver.job import Job
from carrysave.driver.ready import job_of, relocate

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


@pytest.mark.parametrize(
    "job", [PRODUCT, replace(PRODUCT, requantisation=HOW), INDEX], ids=["sums", "codes", "index"]
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
