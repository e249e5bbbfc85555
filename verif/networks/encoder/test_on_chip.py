"""What of attention is on chip: as much as fits, and results are what they are without it."""

from pathlib import Path

import numpy as np
import pytest

from carrysave.compiler.encoder.evaluate import vectors
from carrysave.compiler.encoder.on_chip import Held, held
from carrysave.compiler.encoder.request import PARAMETERS
from carrysave.compiler.program.cost import spent
from carrysave.compiler.program.image import Image
from carrysave.compiler.target.target import Target
from carrysave.compiler.timing.golden_job import CHIP
from hw.catalog import Design
from verif.networks.encoder.encoders import SIZES
from verif.networks.encoder.test_simulate import small, starts_of


@pytest.mark.parametrize("chip", [0, 4096, 8192, 16384, 32768, 65536, 1 << 20])
def test_as_much_is_held_as_fits(chip: int) -> None:
    for length in (*range(1, 40), 100, 127, 128, 333, 512):
        for heads, each in ((12, 32), (1, 64), (5, 7)):
            found = held(heads, length, each, chip=chip, tile=8)
            groups, chunks = list(found.groups(heads)), list(found.chunks(length))
            assert [one for group in groups for one in group] == list(range(heads))
            assert [row for chunk in chunks for row in chunk] == list(range(length))
            if found.scores is None:
                assert found == Held(heads=heads, rows=length)
                # Not even some rows of a head are.
                least = 2 * min(length, 8) * (length + each)
                assert least + 64 > chip
                continue
            assert found.mixed is not None
            count, rows = found.heads, found.rows
            scores, mixed = 2 * rows * count * length, 2 * rows * count * each
            ends = [(found.scores, scores), (found.mixed, mixed)]
            if found.turned is not None:
                ends.append((found.turned, count * each * length))
            for (start, size), (after, _) in zip(ends, [*ends[1:], (chip, 0)], strict=True):
                assert start % 64 == 0
                assert start + size <= after
            # Shares are where scores were.
            assert rows * count * (length + 1) <= scores
            assert count == 1 or rows == length


def test_128_tokens_of_a_head() -> None:
    """64 KiB hold a head whole, 16 KiB a quarter of its rows."""
    assert held(12, 128, 32, chip=1 << 16, tile=8) == Held(
        heads=1, rows=128, scores=0, mixed=32768, turned=40960
    )
    quarter = held(1, 128, 64, chip=1 << 14, tile=8)
    assert (quarter.heads, quarter.rows, quarter.turned) == (1, 16, 6144)


@pytest.mark.parametrize(("chip", "softmaxes"), [(4096, 2), (1024, 2 + 3 * 2)])
def test_results_are_the_same(tmp_path: Path, chip: int, softmaxes: int) -> None:
    """Of two sentences, all heads at once or one by one; no score, share or key is in memory.

    Less on chip than any block has is for heads one by one, and rows of these.
    """
    without = small(tmp_path, 4, sentences=2)
    on_chip = small(tmp_path, 4, sentences=2, chip=chip, scratch="4096")
    np.testing.assert_array_equal(vectors(on_chip), vectors(without))
    for step in starts_of(on_chip):
        part = step.node.rpartition(".")[2]
        near = part in ("scores", "shares") or (part, step.operator) == ("context", "product")
        assert all((job.c >= CHIP) == near for job in step.jobs)
    # Of a layer: of nine tokens all heads, or two and one; of 20 all, or each by half of its rows.
    found = sum(len(step.jobs) for step in starts_of(on_chip) if step.operator == "softmax")
    assert found == SIZES["num_hidden_layers"] * softmaxes
    # What remains on the bus of scores is queries, of contexts values and results.
    moved, less = (
        sum(
            spent(job, program.target).moved
            for step in starts_of(program)
            if step.node.rpartition(".")[2] in ("scores", "shares", "context")
            for job in step.jobs
        )
        for program in (without, on_chip)
    )
    assert 0 < less < moved / 2


def test_what_does_not_fit_is_refused() -> None:
    image = Image(Target(Design.parse("coprocessor", PARAMETERS | {"scratch": "4096"})))
    image.reserve("whole", 64, 32, 16, chip=0)
    for start in (1, 4096, -1):
        with pytest.raises(ValueError, match="'scores' must be within the 4096 bytes on chip"):
            image.reserve("scores", 64, 32, 16, chip=start)
    assert "scores" not in image.buffers
