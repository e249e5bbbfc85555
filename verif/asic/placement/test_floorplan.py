"""Rows, sites and taps: dies of whole ones, cells beside each other, no place far from a tap."""

import numpy as np
import pytest

from carrysave.asic.placement.floorplan import (
    Floorplan,
    orientation,
    sites_of,
    tap_room,
    with_taps,
)
from carrysave.asic.placement.technology import TECHNOLOGIES, Technology
from carrysave.errors import ArgumentError
from verif.support.command import Run

SKY = TECHNOLOGIES["sky130_fd_sc_hd*"]
SITE, ROW = SKY.site_width, SKY.row_height


@pytest.mark.parametrize(("utilisation", "aspect"), [(0.7, 1.0), (0.05, 0.1), (0.95, 10.0)])
def test_die_is_of_whole_rows_and_sites(utilisation: float, aspect: float) -> None:
    wide, high = Floorplan(utilisation, aspect).size(20_000, SKY)
    assert wide / SITE == pytest.approx(round(wide / SITE))
    assert high / ROW == pytest.approx(round(high / ROW))
    assert 20_000 <= wide * high < 20_000 * 1.01
    assert wide / high == pytest.approx(aspect, rel=0.1)
    assert [orientation(row) for row in range(3)] == ["N", "FS", "N"]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"utilisation": 0.96}, "utilisation must be 0.05 to 0.95, not 0.96"),
        ({"utilisation": 0.0}, "utilisation must be 0.05 to 0.95, not 0"),
        ({"aspect": 10.5}, "aspect must be 0.1 to 10, not 10.5"),
    ],
)
def test_plans_out_of_range_are_refused(given: dict[str, float], says: str) -> None:
    with pytest.raises(ArgumentError, match=says):
        Floorplan(**given)


def test_command_says_the_flag(run: Run) -> None:
    found = run("synth", "opt1", "--place", "--aspect", "11")
    assert (found.code, "--aspect must be 0.1 to 10, not 11" in found.err) == (2, True)
    found = run("synth", "opt1", "--utilisation", "0.5")
    assert (found.code, "--utilisation needs --place" in found.err) == (2, True)


def test_widths_that_liberty_rounds_are_whole() -> None:
    assert [sites_of(width, 0.46) for width in (0.46, 0.460001, 0.47, 9.2)] == [1, 1, 2, 20]


@pytest.mark.parametrize("full", [0.3, 0.8, 1.0])
def test_taps_lie_between_cells(full: float) -> None:
    rng = np.random.default_rng(3)
    size = 300 * SITE, 6 * ROW
    corners, widths = [], []
    end = size[0] - tap_room(size[0], SKY)
    for row in range(6):
        at = 0
        while True:
            sites = int(rng.integers(1, 20))
            at += int(rng.integers(0, 8)) if full < 1 and rng.random() < 1 - full else 0
            if (at + sites) * SITE > end + 1e-9:
                break
            corners.append((at * SITE, row * ROW))
            widths.append(sites * SITE)
            at += sites
    moved, taps = with_taps(corners, widths, size, SKY)
    boxes = [(x, y, width) for (x, y), width in zip(moved, widths, strict=True)]
    for row in range(6):
        edges = np.array(
            sorted((x, x + width) for x, y, width in (*boxes, *taps) if round(y / ROW) == row)
        )
        assert (edges[0, 0], edges[-1, 1]) >= (0, 0)
        assert edges[-1, 1] <= size[0] + 1e-6
        assert (edges[1:, 0] >= edges[:-1, 1] - 1e-6).all()
    assert [y for _, y in moved] == [y for _, y in corners]
    assert max(abs(x - x0) for (x, _), (x0, _) in zip(moved, corners, strict=True)) < 10
    for x in np.arange(0, size[0], 1.0):
        for row in range(6):
            near = min(abs(x - left) for left, y, _ in taps if abs(round(y / ROW) - row) <= 1)
            assert near <= SKY.tap_distance


def test_no_taps_where_none_are_known() -> None:
    bare = Technology(0.2, 0.9, 2.72, "", 0.46)
    assert tap_room(100.0, bare) == 0
    assert with_taps([(0.46, 0.0)], [0.92], (9.2, 2.72), bare) == ([(0.46, 0.0)], [])
