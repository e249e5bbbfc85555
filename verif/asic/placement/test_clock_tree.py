"""The clock tree: as many cells on each way, within limits, at once at all flip-flops."""

import copy
from pathlib import Path

import numpy as np
import pytest

from carrysave.asic import propagated, sta
from carrysave.asic.liberty.cells import Library
from carrysave.asic.placement.clock_timing import balance, clock_times, delay_early
from carrysave.asic.placement.clock_tree import PREFIX, branches, clock_nets, grow, split, without
from carrysave.asic.placement.die import Die
from carrysave.asic.placement.netlist import Instance, Netlist, Sink
from carrysave.asic.placement.sizes import Sizes
from carrysave.asic.placement.technology import technology
from verif.support.gated import gated_osu018

CLOCK = 2


@pytest.fixture
def library(tmp_path: Path) -> Library:
    return gated_osu018(tmp_path)


def scattered(library: Library, free: int, gated: tuple[int, ...]) -> Die:
    """Make a die of flip-flops in a row of shifts: some free, some behind a gate each."""
    ports = {"clk": ("input", [CLOCK]), "e": ("input", [3]), "q": ("output", [0])}
    netlist = Netlist("top", library, ports, {}, 10)  # type: ignore[arg-type]
    rng = np.random.default_rng(1)
    die = Die(netlist, sta.Conditions(), set(), technology(library), (800.0, 800.0), {})
    die.pads = {Sink("", name): (0.0, 10.0 * at) for at, name in enumerate(ports)}
    last = 3
    for group, count in enumerate((free, *gated)):
        clock = CLOCK
        if group:
            clock = netlist.fresh()
            nets: dict[str, int | str] = {"CLK": CLOCK, "E": 3, "GCLK": clock}
            netlist.cells[f"gate{group}"] = Instance("CKGATE", nets)
        for number in range(count):
            after = netlist.fresh()
            nets = {"D": last, "CLK": clock, "Q": after}
            netlist.cells[f"f{group}_{number}"] = Instance("DFFPOSX1", nets)
            last = after
    ports["q"][1][0] = last
    for name in netlist.cells:
        x, y = rng.uniform(0, 800, 2)
        die.places[name] = float(x), float(y)
    die.clocks = netlist.clock_nets("clk")
    return die


def sizes_of(die: Die) -> Sizes:
    library = die.netlist.library
    return Sizes(
        library, {cell.kind for cell in die.netlist.cells.values()} | {library.driver.name}
    )


CASES = [(200, ()), (5, (120, 3)), (0, (40,)), (90, (70, 65, 1))]


@pytest.mark.parametrize(("free", "gated"), CASES)
def test_each_way_has_as_many_cells(library: Library, free: int, gated: tuple[int, ...]) -> None:
    die = scattered(library, free, gated)
    added = grow(die)
    nets = clock_nets(die)
    depth = list[int]()
    ends = dict[str, int]()
    for net in nets:
        depth.append(0 if net.parent < 0 else depth[net.parent] + 1)
        ends |= {pin.cell: depth[-1] for pin in net.pins[1:] if pin.cell.startswith("f")}
        load = net.tree.length * die.technology.capacitance
        assert len(net.pins) <= 65
        assert load <= 250
    assert len(ends) == free + sum(gated)
    assert len(set(ends.values())) == 1
    assert added == sum(name.startswith(PREFIX) for name in die.netlist.cells)
    assert {net.net for net in nets} == die.clocks == die.netlist.clock_nets("clk")


@pytest.mark.parametrize(("free", "gated"), CASES)
def test_without_its_buffers_it_is_the_netlist(
    library: Library, free: int, gated: tuple[int, ...]
) -> None:
    die = scattered(library, free, gated)
    before = copy.deepcopy(die.netlist.cells)
    grow(die)
    assert without(die.netlist).cells == before
    parts = branches(die)
    assert len(parts) == 1 + sum(bool(count) for count in gated)
    buffers = sum(len(own) for _, _, own, _ in parts)
    assert buffers == sum(name.startswith(PREFIX) for name in die.netlist.cells)
    wires = sum(net.tree.length for net in clock_nets(die)) * die.technology.capacitance
    assert sum(own for *_, own in parts) == pytest.approx(wires)


def test_few_pins_get_no_tree(library: Library) -> None:
    die = scattered(library, 2, ())
    assert grow(die) == 0
    assert clock_times(die, sizes_of(die)).skew < 0.1


def test_balance_is_what_opensta_sees(library: Library, tmp_path: Path) -> None:
    """Latencies are those of OpenSTA, and sizes bring the clock to all at once."""
    die = scattered(library, 90, (70, 65))
    grow(die)
    sizes = sizes_of(die)
    before = clock_times(die, sizes).skew
    balance(die, sizes)
    after = delay_early(die, sizes)
    assert after.skew < 0.15
    assert after.skew < before
    die.netlist.write(tmp_path / "netlist.v")
    every = [*die.wires(), *((net.net, list(net.pins), net.tree) for net in clock_nets(die))]
    found = propagated.analyse(
        (tmp_path / "netlist.v").read_text(),
        top="top",
        library=library,
        conditions=sta.Conditions(),
        start_ns=2.0,
        wires=die.spef(every),
        latency_ns=after.mean,
    )
    assert found["clock"]["skew_ns"] == pytest.approx(after.skew, abs=0.02)
    assert found["clock"]["hold_violations"] == 0


def test_skew_that_is_there_shows(library: Library, tmp_path: Path) -> None:
    """A buffer before one flip-flop alone: hold fails, and the skew is seen."""
    die = scattered(library, 60, ())
    die.places = {name: (x / 20, y / 20) for name, (x, y) in die.places.items()}
    (pin,), (out,) = library.driver.inputs, library.driver.outputs
    net = CLOCK
    for number in range(6):
        after = die.netlist.fresh()
        nets: dict[str, int | str] = {pin.name: net, out.name: after}
        die.netlist.cells[f"late{number}"] = Instance(library.driver.name, nets)
        die.places[f"late{number}"] = (1.0, 1.0)
        net = after
    die.netlist.drive(Sink("f0_30", "CLK"), net)
    die.clocks = die.netlist.clock_nets("clk")
    times = clock_times(die, sizes_of(die))
    die.netlist.write(tmp_path / "netlist.v")
    every = [*die.wires(), *((net.net, list(net.pins), net.tree) for net in clock_nets(die))]
    found = propagated.analyse(
        (tmp_path / "netlist.v").read_text(),
        top="top",
        library=library,
        conditions=sta.Conditions(),
        start_ns=2.0,
        wires=die.spef(every),
        latency_ns=0.0,
    )["clock"]
    assert times.skew > 0.4
    assert found["skew_ns"] > 0.4
    assert found["hold_violations"] == 1
    assert found["hold_slack_ns"] < 0


@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_groups_are_of_like_size(count: int) -> None:
    points = [(float(x % 7), float(x // 7)) for x in range(50)]
    groups = split(points, count)
    assert sorted(index for group in groups for index in group) == list(range(50))
    assert max(map(len, groups)) - min(map(len, groups)) <= 2
