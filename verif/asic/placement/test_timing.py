"""The timing that sizes are found by: against OpenSTA, and its slopes against differences."""

from pathlib import Path

import numpy as np
import pytest

from carrysave.asic import sta, synthesis
from carrysave.asic.liberty import cells
from carrysave.asic.liberty.arcs import arcs
from carrysave.asic.liberty.tables import Table
from carrysave.asic.placement.die import Die
from carrysave.asic.placement.floorplan import Floorplan
from carrysave.asic.placement.lookup import Stack
from carrysave.asic.placement.netlist import Netlist
from carrysave.asic.placement.sizes import Sizes
from carrysave.asic.placement.technology import technology
from carrysave.asic.placement.timing import Timing
from hw.catalog import Design

LIBRARY = cells.osu018()
DESIGN = Design("opt2", {"a_width": 4, "b_width": 4, "accumulator_width": 12, "encoding": "booth"})
CONDITIONS = sta.Conditions(clock="clk", resets=("rst",))


@pytest.fixture(scope="module")
def die(tmp_path_factory: pytest.TempPathFactory) -> Die:
    """Throw the cells of a small design on a die."""
    found = synthesis.synthesise_design(DESIGN, LIBRARY, activity="none")
    netlist = Netlist.read(Path(found["netlist"]), found["module"], LIBRARY)
    own = Die.of(netlist, CONDITIONS, technology(LIBRARY), Floorplan(0.5))
    rng = np.random.default_rng(1)
    own.places = {
        name: (float(x), float(y))
        for name, (x, y) in zip(
            netlist.cells, rng.uniform(0, 150, (len(netlist.cells), 2)), strict=True
        )
    }
    return own


@pytest.fixture(scope="module")
def timing(die: Die) -> Timing:
    kinds = {cell.kind for cell in die.netlist.cells.values()} | {LIBRARY.driver.name}
    return die.timing(Sizes(LIBRARY, kinds))


def test_many_tables_are_looked_up_as_one_is() -> None:
    own = [
        arc
        for name in ("NAND2X1", "XOR2X1", "DFFPOSX1")
        for known in [arcs(LIBRARY, [name])[name]]
        for arc in (*known.logic, *known.clocked)
    ]
    stack = Stack([(arc.delay, arc.transition) for arc in own])
    rng = np.random.default_rng(1)
    tables = rng.integers(0, len(own), 200)
    slews, loads = rng.uniform(0, 2, 200), rng.uniform(0, 800, 200)
    found = stack.look_up(tables, slews, loads)
    step = 1e-6
    for number, one in enumerate(found):
        for index, table in enumerate(tables):
            known = (own[table].delay, own[table].transition)[number]

            def at(slew: float, load: float, known: Table = known) -> float:
                return float(known.look_up(np.array([slew]), np.array([load]))[0])

            slew, load = slews[index], loads[index]
            value = at(slew, load)
            assert one.value[index] == pytest.approx(value)
            for slope, grown in (
                (one.by_slew, at(slew + step, load)),
                (one.by_load, at(slew, load + step)),
            ):
                change = (grown - value) / step
                assert slope[index] == pytest.approx(change, rel=1e-3, abs=1e-6)


def test_period_is_that_of_opensta(die: Die, timing: Timing, tmp_path: Path) -> None:
    """OpenSTA has a capacitance for each edge, and effective ones of wires with resistance."""
    die.netlist.write(tmp_path / "netlist.v")
    found = sta.analyse(
        (tmp_path / "netlist.v").read_text(),
        top=die.netlist.top,
        library=LIBRARY,
        conditions=CONDITIONS,
        wires=die.spef(list(die.wires())),
    )
    without = sta.analyse(
        (tmp_path / "netlist.v").read_text(),
        top=die.netlist.top,
        library=LIBRARY,
        conditions=CONDITIONS,
    )
    period = timing.times().period
    assert period == pytest.approx(found["period_ns"], rel=0.02)
    assert period > 1.2 * without["period_ns"]
    assert [note for note in found["notes"] if "spef" in note.lower()] == []


def test_slopes_are_those_of_the_soft_period(timing: Timing) -> None:
    softness = 1e-3
    times = timing.times()
    slopes = timing.slopes(times, softness)
    steep = np.argsort(-slopes.load)[:8]
    assert slopes.load[steep].min() > 1e-6
    for net in steep:
        step = 1e-2
        timing.wire[net] += step
        grown = timing.times().soft_period(softness)
        timing.wire[net] -= step
        change = (grown - times.soft_period(softness)) / step
        assert slopes.load[net] == pytest.approx(change, rel=0.05)


def test_slack_is_none_on_the_longest_path(timing: Timing) -> None:
    times = timing.times()
    slack = timing.slack(times)
    assert slack.min() == pytest.approx(0, abs=1e-9)
    late = timing.pin_net[slack < 1e-9]
    assert len(late) > 3
    # What waits less than a pin's slack makes no path longer.
    waits = np.zeros(len(timing.pin_cell) + 1)
    pin = int(np.argmin(np.where(slack > 0.1, slack, np.inf)))
    for share, longer in ((0.9, False), (1.1, True)):
        waits[pin] = share * slack[pin]
        timing.set_wires(timing.wire, timing.delays + waits)
        assert (timing.times().period > times.period + 1e-9) == longer
        timing.set_wires(timing.wire, timing.delays - waits)


def test_resets_are_not_timed(die: Die, timing: Timing) -> None:
    (reset,) = die.netlist.ports["rst"][1]
    assert isinstance(reset, int)
    node = 2 * timing.nets[reset]
    assert (timing.times().arrival[[node, node + 1]] < 0).all()
