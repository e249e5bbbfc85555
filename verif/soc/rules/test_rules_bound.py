"""Rules are bound to every bus of a design in simulation, and tell what breaks them."""

import re
from pathlib import Path
from typing import Any

import pytest

from carrysave.sim.parameters import describe
from carrysave.sim.rules.bound import bound
from carrysave.sim.runner import run, sources_of
from carrysave.sim.verilator import build
from hw.catalog import Design
from verif.soc.test_coprocessor_rtl import CASES, STREAMS

PORTS = {
    "coprocessor": ["s_axi", "m_axi_read", "m_axi_write"],
    "coprocessor_stream": ["s_axi", "s_axis_a", "s_axis_b", "m_axis_c"],
    "coprocessor_uart": [],
}
SMALL = {"engine": "systolic_os(m=2,n=2)", "sums": 16}


@pytest.mark.parametrize("name", PORTS)
def test_rules_are_bound_to_every_bus(name: str) -> None:
    design = Design(name, SMALL)
    text = bound(design)
    binds = re.findall(rf"^bind {design.module} (\w+) (\w+) \((.*)\);$", text, re.MULTILINE)
    assert [place for _, place, _ in binds] == [f"rules_{port}" for port in PORTS[name]]
    for teller, place, pins in binds:
        assert teller == f"{place}_teller"
        assert ".rst(~aresetn)" in pins
        assert f"module {place}_kept(" in text
    wired = re.findall(r"\((\w+)\)", " ".join(pins for *_, pins in binds))
    ports = [
        f"{interface}_{member}"
        for interface, part in design.component().signature.members.items()
        if not part.is_port
        for member in part.signature.members
    ]
    assert sorted(wired) == sorted([*ports, *["aclk"] * len(binds)] if binds else [])


@pytest.mark.prove
@pytest.mark.parametrize(
    ("name", "parameters", "port", "says"),
    [
        ("coprocessor", CASES[0], "m_axi_wlast", "manager of m_axi_write: w_last"),
        ("coprocessor", CASES[0], "s_axi_rvalid", "subordinate of s_axi: r_reset"),
        ("coprocessor_stream", STREAMS[0], "m_axis_c_tvalid", "manager of m_axis_c: t_reset"),
    ],
)
def test_broken_rules_end_the_simulation(
    name: str, parameters: dict[str, Any], port: str, says: str, tmp_path: Path
) -> None:
    """A port is inverted."""
    design = Design(name, parameters)
    verilog, *more = sources_of(design, tmp_path, rules=True)
    text = verilog.read_text()
    text, count = re.subn(rf"(\.\w+)\({port}\)", r"\1(inverted)", text)
    assert count == 1
    declared = f"  wire {port};\n"
    assert text.count(declared) == 1
    more_text = f"  wire inverted;\n  assign {port} = ~inverted;\n"
    verilog.write_text(text.replace(declared, declared + more_text))
    result = run(
        build([verilog, *more], design.module),
        design.entry.bench,
        parameters=describe(design),
        seed=1,
        directory=tmp_path,
        stop=True,
    )
    assert not result.ok
    assert f"rule broken by the {says} (" in result.log.read_text()
