"""Which codes are put together by jobs, and which stay where they are."""

from typing import Any

import numpy as np
import pytest

from carrysave.compiler.program.copies import lay
from carrysave.compiler.program.image import Image
from carrysave.compiler.program.places import places_of
from carrysave.compiler.program.steps import Start
from carrysave.driver.system import Tensor
from verif.compiler.test_copies import TARGET

EVEN = places_of(64, (2, 6, 4, 5), (160, 1, 40, 8))


def laid(sources: np.ndarray, kind: Any = np.int8) -> tuple[bool, Image]:
    """Return whether codes are put elsewhere, and the image."""
    image = Image(TARGET)
    image.room(1 << 16)
    tensors = {"x": Tensor(sources, np.dtype(kind), 0)}
    lay(image, ("node", "operator"), tensors, ["x", "none"])
    return tensors["x"].sources is not sources, image


@pytest.mark.parametrize(
    ("sources", "kind"),
    [
        pytest.param(EVEN, np.int8, id="even"),
        pytest.param(np.concatenate([EVEN, EVEN + 9], axis=1), np.float32, id="floats"),
        pytest.param(np.zeros((2, 0, 4, 5), int), np.int8, id="none"),
        pytest.param(
            np.concatenate([
                EVEN, np.broadcast_to(Image(TARGET).constant(np.arange(3)), (2, 6, 4, 3))
            ], axis=3),
            np.int8, id="numbers one after the other",
        ),
        pytest.param(
            np.random.default_rng(1).permutation(EVEN.size).reshape(EVEN.shape) + 64, np.int8,
            id="no order",
        ),
        pytest.param(
            np.concatenate([EVEN, EVEN[:, :, ::-1] + 4096], axis=1), np.int8, id="backwards"
        ),
        pytest.param(
            np.concatenate([EVEN + (1000 + at) * at for at in range(65)], axis=1), np.int8,
            id="parts of an axis",
        ),
        pytest.param(
            # Twelve by twelve pixels, all of which lie apart, of 4 samples: 576 copies.
            np.add.outer(
                np.arange(4) ** 3 * 9000,
                np.add.outer(np.arange(12) ** 3 * 17, np.arange(12) ** 3 * 30000),
            )[:, None] + np.arange(64).reshape(64, 1, 1) + 64,
            np.int8, id="copies",
        ),
    ],
)  # fmt: skip
def test_codes_that_stay(sources: np.ndarray, kind: Any) -> None:
    """No job is there in vain: they lie even, are no codes of a byte, or jobs would be many."""
    moved, image = laid(sources, kind)
    assert not moved
    assert not image.steps


def test_numbers_that_differ_are_a_job_each() -> None:
    """A number fills a box; other ones another box."""
    image = Image(TARGET)
    fills = [np.full((2, 6, 4, 1), int(image.constant(np.array(code)))) for code in (3, -7)]
    moved, image = laid(np.concatenate([EVEN, *fills], axis=3))
    assert moved
    jobs = [job for step in image.steps if isinstance(step, Start) for job in step.jobs]
    points = [job.requantisation.zero_point for job in jobs if job.requantisation is not None]
    assert sorted(set(points)) == [-7, 0, 3]


def test_rows_are_along_what_follows_each_other() -> None:
    """Whichever axis that is: a job for each part, not for each of its columns."""
    along = places_of(64, (1, 6, 4, 16), (0, 64, 16, 1))
    moved, image = laid(np.concatenate([along, along + 4096], axis=1))
    assert moved
    jobs = [job for step in image.steps if isinstance(step, Start) for job in step.jobs]
    assert [(job.m * job.n) for job in jobs] == [along.size] * 2
