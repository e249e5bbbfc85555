"""Maps that are copied on chip in strips: what each of them has, and when there are none."""

from dataclasses import replace

import numpy as np
import pytest

from carrysave.compiler.program import map_copies
from carrysave.compiler.program.groups import JobGroup
from carrysave.compiler.program.map_copies import _cuts, copied_before
from carrysave.compiler.program.steps import Start
from carrysave.compiler.program.window_parts import part_of
from carrysave.compiler.target.target import Target
from carrysave.driver.job import Job
from carrysave.driver.window import Window
from golden.soc.window import window_rows
from verif.compiler.programs import design
from verif.golden.test_golden_ring import any_window

WINDOW = Window(height=12, width=9, across=9, channels=4, pixel=4, kernel=(3, 3), first=(1, 1))
JOB = Job(a=64, b=4096, c=8192, m=108, n=8, k=36, lda=36, ldb=8, ldc=16, window=WINDOW)
GROUP = JobGroup(job=JOB)


@pytest.mark.parametrize("seed", range(40))
def test_a_part_has_the_windows_of_the_whole(seed: int) -> None:
    """It reads the same codes, and writes where the whole does; the map is no larger than that."""
    rng = np.random.default_rng(seed)
    window = any_window(rng)
    lda, lines = window.row_bytes + 2, int(rng.integers(1, 7))
    image = rng.integers(0, 255, (window.height, lda)).astype(np.uint8)
    whole = replace(JOB, a=7, m=lines * window.across, lda=lda, window=window)
    rows = window_rows(window, image[:, : window.row_bytes], whole.m)
    down, across = (
        np.sort(rng.choice(size + 1, 2, replace=False)) for size in (lines, window.across)
    )
    taken = rows.reshape(lines, window.across, -1)[slice(*down), slice(*across)]
    part = part_of(whole, range(*down), range(*across))
    if part is None:
        assert (taken == window.fill).all()
        return
    assert part.window is not None
    assert part.c == whole.c + (down[0] * window.across + across[0]) * whole.ldc
    y, x = divmod(part.a - whole.a, lda)
    some = image[y : y + part.window.height, x : x + part.window.row_bytes]
    assert some.shape == (part.window.height, part.window.row_bytes)
    made = window_rows(part.window, some, part.m)
    np.testing.assert_array_equal(made, taken.reshape(part.m, -1))


def test_strips_have_all_lines() -> None:
    """Each as many as a kernel, or more."""
    whole, *strips = _cuts([GROUP, replace(GROUP, job=replace(JOB, b=5000, c=9000))])
    assert whole[0][0] == GROUP
    assert [len(one) for one in strips] == [2, 3, 4]
    for some in strips:
        for number, first in enumerate((8192, 9000)):
            jobs = [strip[number].job for strip in some]
            assert sum(job.m for job in jobs) == 108
            assert min(job.m for job in jobs) >= 27
            ends = np.cumsum([0, *(job.m for job in jobs)])[:-1]
            assert [job.c for job in jobs] == [first + 16 * end for end in ends]


@pytest.mark.parametrize(
    "groups",
    [
        [replace(GROUP, job=replace(JOB, m=107))],
        [GROUP, replace(GROUP, job=replace(JOB, m=99))],
        [GROUP, replace(GROUP, job=replace(JOB, window=replace(WINDOW, fill=3)))],
        [replace(GROUP, job=replace(JOB, window=None))],
    ],
)
def test_others_are_whole(groups: list[JobGroup]) -> None:
    """Lines that are not whole, jobs of others, and of other windows; and of none."""
    assert list(_cuts(groups)) == [[groups]]


def test_no_strip_is_beyond_the_map() -> None:
    """Where windows are, an edge is nothing to be copied."""
    far = replace(WINDOW, first=(9, 1))
    counts = [len(one) for one in _cuts([replace(GROUP, job=replace(JOB, window=far))])]
    assert counts == [1]


def test_what_would_be_many_copies_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of a start, if it is so of one strip."""
    given: list[list[JobGroup] | None] = [[], None]
    made = iter(given)
    monkeypatch.setattr(map_copies, "box_groups", lambda *given: next(made))
    start = Start(node="y", operator="Conv", groups=(GROUP,), cycles=0, macs=0, counters=0)
    target = Target(design("on chip"))
    assert copied_before(start, target, lambda size: 0 if size < 400 else None) is start
    assert next(made, "no more") == "no more"
