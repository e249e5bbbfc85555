"""Wires of the longest paths are pulled, and become shorter for it."""

from collections import Counter
from pathlib import Path

import pytest

from carrysave.asic import sta, synthesis
from carrysave.asic.liberty import cells
from carrysave.asic.placement.die import Die
from carrysave.asic.placement.floorplan import Floorplan
from carrysave.asic.placement.netlist import Netlist
from carrysave.asic.placement.pulls import pulls
from carrysave.asic.placement.sizes import Sizes
from carrysave.asic.placement.technology import technology
from hw.catalog import Design

LIBRARY = cells.osu018()
DESIGN = Design("opt2", {"a_width": 4, "b_width": 4, "accumulator_width": 12})


@pytest.fixture(scope="module")
def die() -> Die:
    pytest.importorskip("coloquinte")
    found = synthesis.synthesise_design(DESIGN, LIBRARY, activity="none")
    netlist = Netlist.read(Path(found["netlist"]), found["module"], LIBRARY)
    conditions = sta.Conditions(clock="clk", resets=("rst",))
    own = Die.of(netlist, conditions, technology(LIBRARY), Floorplan(0.5))
    own.place()
    return own


@pytest.mark.prove
def test_wires_are_pulled_by_how_long_they_may_wait(die: Die) -> None:
    """Against the slack of each pin: four times on the longest path, once at 6 % of the period."""
    kinds = {cell.kind for cell in die.netlist.cells.values()} | {LIBRARY.driver.name}
    timing = die.timing(Sizes(LIBRARY, kinds))
    times = timing.times()
    drivers, wanted = die.netlist.drivers(), Counter[tuple[str, str]]()
    numbers = {number: net for net, number in timing.nets.items()}
    for pin, slack in enumerate(timing.slack(times)):
        driver = drivers.get(numbers[timing.pin_net[pin]])
        own = driver.cell if driver else "", timing.sink(pin).cell
        if all(own) and slack < 0.06 * times.period:
            wanted[own] += 1 + round(3 - 3 * float(slack) / (0.06 * times.period))
    assert 4 in wanted.values()
    assert Counter(pulls(die, timing)) == wanted


@pytest.mark.prove
def test_what_is_pulled_comes_closer(die: Die) -> None:
    """The two cells that are farthest from each other: in opposite corners."""
    ends = [
        sorted(die.places, key=lambda cell: die.places[cell][0] + sign * die.places[cell][1])
        for sign in (1, -1)
    ]
    one, other = max(((cells[0], cells[-1]) for cells in ends), key=lambda pair: _far(die, *pair))
    before = _far(die, one, other)
    die.place([(one, other)] * 30, anew=True)
    assert _far(die, one, other) < before / 3


def _far(die: Die, one: str, other: str) -> float:
    """Return the distance of two cells, um."""
    return sum(abs(a - b) for a, b in zip(die.places[one], die.places[other], strict=True))
