"""Buffers that are of no use on long paths go, and those that are stay."""

from pathlib import Path

import pytest

from carrysave.asic import sta, synthesis
from carrysave.asic.liberty import cells
from carrysave.asic.placement.buffers import Limits, add_buffers, bypass
from carrysave.asic.placement.die import Die
from carrysave.asic.placement.floorplan import Floorplan
from carrysave.asic.placement.netlist import Instance, Netlist, Sink
from carrysave.asic.placement.sizes import Sizes
from carrysave.asic.placement.technology import technology
from carrysave.asic.placement.timing import Timing
from hw.catalog import Design

LIBRARY = cells.osu018()
DESIGN = Design("opt1", {"a_width": 4, "b_width": 4, "accumulator_width": 12})


@pytest.fixture
def die() -> Die:
    """Throw all cells on one place: wires have no length."""
    found = synthesis.synthesise_design(DESIGN, LIBRARY, activity="none")
    netlist = Netlist.read(Path(found["netlist"]), found["module"], LIBRARY)
    conditions = sta.Conditions(clock="clk", resets=("rst",))
    netlist.remove_buffers(netlist.clock_nets("clk"))
    own = Die.of(netlist, conditions, technology(LIBRARY), Floorplan(0.5))
    own.places = dict.fromkeys(netlist.cells, (30.0, 30.0))
    return own


def timed(die: Die) -> Timing:
    kinds = {cell.kind for cell in die.netlist.cells.values()} | {LIBRARY.driver.name}
    return die.timing(Sizes(LIBRARY, kinds))


def late_pin(timing: Timing) -> Sink:
    """Return a pin on the longest path, of a net with few others, that a cell drives."""
    slack = timing.slack(timing.times())
    drivers = timing.netlist.drivers()
    nets = {number: net for net, number in timing.nets.items()}
    for pin in slack.argsort().tolist():
        driver = drivers.get(nets[int(timing.pin_net[pin])])
        if driver and driver.cell and (timing.pin_net == timing.pin_net[pin]).sum() <= 2:
            assert slack[pin] < 1e-9
            return timing.sink(pin)
    raise AssertionError


def lengthen(die: Die, sink: Sink, buffers: int) -> list[str]:
    """Put buffers one after the other before a pin."""
    (inner,), (out,) = LIBRARY.driver.inputs, LIBRARY.driver.outputs
    names = []
    for number in range(buffers):
        net, after = die.netlist.cells[sink.cell].nets[sink.pin], die.netlist.fresh()
        name = f"more_{number}"
        die.netlist.cells[name] = Instance(LIBRARY.driver.name, {inner.name: net, out.name: after})
        die.places[name] = die.places[sink.cell]
        die.netlist.drive(sink, after)
        names.append(name)
    return names


def test_a_row_of_buffers_on_the_longest_path_goes(die: Die) -> None:
    timing = timed(die)
    before, sink = timing.times().period, late_pin(timing)
    net = die.netlist.cells[sink.cell].nets[sink.pin]
    names = lengthen(die, sink, 5)
    assert timed(die).times().period > 1.05 * before
    # Of two that follow one another only one goes at a time.
    left = [5]
    while bypass(die, timed(die)):
        left.append(len({*names} & die.netlist.cells.keys()))
    assert left[1] in {2, 3}
    assert left[-1] == 0
    assert die.netlist.cells.keys() == die.places.keys()
    assert die.netlist.cells[sink.cell].nets[sink.pin] == net
    assert timed(die).times().period <= before + 1e-9


def test_a_buffer_that_carries_a_load_stays(die: Die) -> None:
    """Behind it are so many pins that its driver would be slower than both."""
    sink = late_pin(timed(die))
    (name,) = lengthen(die, sink, 1)
    (out,) = LIBRARY.driver.outputs
    net = die.netlist.cells[name].nets[out.name]
    inverter = LIBRARY.with_table((1, 0))[0]
    (inner,), (other,) = inverter.inputs, inverter.outputs
    for number in range(60):
        cell = {inner.name: net, other.name: die.netlist.fresh()}
        die.netlist.cells[f"load_{number}"] = Instance(inverter.name, cell)
        die.places[f"load_{number}"] = die.places[sink.cell]
    before = timed(die).times().period
    bypass(die, timed(die))
    assert name in die.netlist.cells
    assert timed(die).times().period <= before + 1e-9


def test_trees_that_were_too_careful_become_shorter(die: Die) -> None:
    add_buffers(die, Limits(pins=2, wire=600.0, load=150.0))
    before, cells_before = timed(die).times().period, len(die.netlist.cells)
    for _ in range(4):
        bypass(die, timed(die))
    assert timed(die).times().period < 0.9 * before
    assert len(die.netlist.cells) < cells_before
