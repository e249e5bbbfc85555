"""Times of products whose groups of K are scaled: by the unit, and of what is left out."""

import numpy as np
import pytest

from golden.soc import ring_marks
from golden.soc.block_rows import Span
from golden.soc.memory_timing import TO_ADDRESS, MemoryTiming
from golden.soc.ring_cycles import RingJob, ring_ends
from golden.soc.ring_groups import RingGroups
from golden.soc.ring_loader import RingLoader
from golden.soc.ring_sdram import bus_of
from golden.soc.spec import CoprocessorSpec
from golden.tpe.cube import CubeSpec
from golden.tpe.systolic_os import SystolicOsSpec
from verif.soc.benches.group_rings import placed

THIN = CoprocessorSpec(
    engine=SystolicOsSpec(m=1, n=16, b_width=4), data_width=64, group_scales="fp16"
)
FAST = CoprocessorSpec(engine=CubeSpec(m=4, n=16, k=16), data_width=512, group_scales="fp16")


def took(spec: CoprocessorSpec, *sizes: tuple[int, int, int, int], latency: int = 20) -> list[int]:
    """Return when each product of a ring is complete."""
    memory = MemoryTiming(latency=latency + TO_ADDRESS, bytes=spec.bytes)
    return ring_ends(spec, [RingJob(job) for job in placed(spec, sizes)], memory)


def test_a_number_of_a_group_takes_a_cycle() -> None:
    """Where the array is far faster than that; each block of numbers waits for the one before."""
    few, many = (took(FAST, (8, 32 * groups, 128, 32))[-1] for groups in (4, 12))
    assert 1 <= (many - few) / (8 * 8 * 128) < 1.1


def test_blocks_wait_for_each_other_and_for_room() -> None:
    """Rows of a block are a row's numbers apart; sums of two blocks are there at most."""
    groups = RingGroups(THIN, RingLoader(THIN, bus_of(THIN, MemoryTiming())))
    c = Span("c", range(2), 0, 4 * 16)
    first = groups.added([100, 101], c)
    assert (first[1] - first[0], groups.room) == (16, 0)
    second = groups.added([100, 101], c)
    assert second[0] - first[1] > 16
    began = groups.room - 32
    assert began > 100
    groups.later(7)
    assert groups.room == began + 32 + 7
    third = groups.added([0, 0], c)
    assert third[0] - second[1] == second[0] - first[1] + 7


def test_scales_and_powers_are_read() -> None:
    """A sixteenth of a beat each, and a bit of a beat: of many columns what they take shows."""
    groups, columns = 40, 1024
    with_scales = took(THIN, (1, 32 * groups, columns, 32))[-1]
    beats = groups * columns * 32 // 16  # of weights, 4 bits each
    assert beats + groups * columns // 4 < with_scales < 1.6 * (beats + groups * columns // 4)


@pytest.mark.parametrize("spec", [THIN, FAST], ids=["thin", "fast"])
def test_what_is_left_out_takes_what_the_rest_does(
    spec: CoprocessorSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = (1, 640, 512, 32), (1, 64, 64, 32), (3, 1280, 64, 32)
    left_out = np.diff([0, *took(spec, *sizes)])
    monkeypatch.setattr(ring_marks, "LEAST", 1 << 20)
    monkeypatch.setattr("golden.soc.ring_walk.LEAST", 1 << 20)
    np.testing.assert_allclose(left_out, np.diff([0, *took(spec, *sizes)]), rtol=0.01)
