"""Hold at ports: buffers where data come too soon, on the way of these alone."""

from pathlib import Path

import pytest

from carrysave.asic import propagated, sta
from carrysave.asic.liberty.cells import Library
from carrysave.asic.placement import hold
from carrysave.asic.placement.clock_timing import clock_times
from carrysave.asic.placement.clock_tree import grow, without
from carrysave.asic.placement.die import Die
from carrysave.asic.placement.netlist import Instance, Netlist, Sink
from carrysave.asic.placement.sizes import Sizes
from carrysave.asic.placement.technology import technology
from verif.support.gated import gated_osu018


@pytest.fixture
def library(tmp_path: Path) -> Library:
    return gated_osu018(tmp_path)


def registers(library: Library) -> Die:
    """Return a die of 40 registers: `a` goes to the first, and with `b` through a gate to another.

    To a third it goes through so many inverters that it is late enough. The others shift.
    """
    ports = {"clk": ("input", [2]), "a": ("input", [3]), "b": ("input", [4]), "q": ("output", [0])}
    netlist = Netlist("top", library, ports, {}, 10)  # type: ignore[arg-type]
    netlist.cells["gate"] = Instance("NAND2X1", {"A": 3, "B": 4, "Y": 5})
    for number in range(12):
        before = 3 if number == 0 else 99 + number
        netlist.cells[f"inverter{number}"] = Instance("INVX1", {"A": before, "Y": 100 + number})
    netlist._fresh = last = 200
    for number in range(40):
        after = netlist.fresh()
        start = {0: 3, 20: 5, 30: 111}.get(number, last)
        netlist.cells[f"f{number}"] = Instance("DFFPOSX1", {"D": start, "CLK": 2, "Q": after})
        last = after
    ports["q"][1][0] = last
    die = Die(netlist, sta.Conditions(), set(), technology(library), (300.0, 300.0), {})
    die.pads = {Sink("", name): (0.0, 20.0 * at) for at, name in enumerate(ports)}
    for at, name in enumerate(netlist.cells):
        die.places[name] = 20.0 + 40 * (at % 7), 25.0 + 40 * (at // 7)
    die.clocks = netlist.clock_nets("clk")
    grow(die)
    return die


def sizes_of(die: Die) -> Sizes:
    library = die.netlist.library
    kinds = {cell.kind for cell in die.netlist.cells.values()}
    return Sizes(library, kinds | {library.driver.name})


def test_ports_wait_for_late_registers(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("coloquinte")
    monkeypatch.setattr(hold, "_MARGIN", 0.3)
    die = registers(library)
    sizes = sizes_of(die)
    early = hold._early(die, sizes)
    assert {(cell, pin) for _, cell, pin in early} == {("f0", "D"), ("f20", "D")}
    before = {name: dict(cell.nets) for name, cell in without(die.netlist).cells.items()}
    added = hold.delay_ports(die, sizes)
    assert not hold._early(die, sizes)
    buffers = {name: cell for name, cell in die.netlist.cells.items() if name.startswith("hold_")}
    assert len(buffers) == added >= 2
    assert die.netlist.cells["inverter0"].nets["A"] == 3
    # What is no buffer has the pins that it had, or is behind buffers of the same net.
    source = {cell.nets["Y"]: cell.nets["A"] for cell in buffers.values()}
    for name, cell in without(die.netlist).cells.items():
        for pin, net in (cell.nets if name in before else {}).items():
            while net in source:
                net = source[net]
            assert net == before[name][pin]
    assert not any(
        cell.nets["D"] in source
        for name, cell in die.netlist.cells.items()
        if name[0] == "f" and name not in ("f0", "f20")
    )


def test_enough_slack_gets_no_buffer(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hold, "_MARGIN", -1.0)
    die = registers(library)
    assert hold.delay_ports(die, sizes_of(die)) == 0
    assert not any(name.startswith("hold_") for name in die.netlist.cells)


def test_slack_is_what_the_report_says(library: Library, tmp_path: Path) -> None:
    """A margin just above the worst slack that is reported finds its pin; one below finds none."""
    die = registers(library)
    sizes = sizes_of(die)
    die.netlist.write(tmp_path / "netlist.v")
    wires = die.spef(list(die.wires()))
    text, latency = (tmp_path / "netlist.v").read_text(), clock_times(die, sizes).mean
    asked = {"top": "top", "library": library, "conditions": die.conditions, "wires": wires}
    facts = propagated.analyse(text, **asked, start_ns=2.0, latency_ns=latency)  # type: ignore[arg-type]
    worst = facts["clock"]["hold_slack_inputs_ns"]
    for margin, count in ((worst + 1e-4, 1), (worst - 1e-4, 0)):
        early = propagated.early_inputs(text, **asked, latency_ns=latency, margin_ns=margin)  # type: ignore[arg-type]
        assert len(early) == count


def test_without_a_clock_nothing_is_early(library: Library) -> None:
    conditions = sta.Conditions(clock=None)
    assert not propagated.early_inputs(
        "", top="t", library=library, conditions=conditions, wires="", latency_ns=0.0, margin_ns=1.0
    )
