"""A netlist's registers may hold anything before the reset: nothing of it comes out after one.

Gates of an event-driven simulator take two inputs that are the same unknown value for two unknowns,
so that Icarus can end with an x where a circuit has a value. That it has the right one is proven.
"""

import re
from pathlib import Path
from typing import Any

import pytest

from carrysave.asic.bench_job import netlist_sources
from carrysave.asic.liberty import cells
from carrysave.regress.deciding.equivalence import proven
from carrysave.sim import runner
from hw.catalog import Design
from hw.emit import yosys
from hw.emit.verilog import Emission
from verif.support.cases import case_name, long

SECONDS = 200
SMALL = {"a_width": 2, "b_width": 2, "accumulator_width": 8}
NONE = {"a_signed": False, "b_signed": False, "encoding": "none", "upper": "counter"}
SHOWS_X = SMALL | NONE
"""Of opt1: Icarus ends with an x in three bits of a carry."""
CASES: list[tuple[str, dict[str, Any]]] = [
    ("opt1", SHOWS_X),
    *long([
        ("opt1", SMALL),
        ("opt1", SMALL | {"upper": "counter"}),
        ("mac", SMALL),
        ("opt2", SMALL | {"k": 2}),
        ("opt3", SMALL),
        ("lmul", {"format": "e4m3"}),
    ]),
]


def miter(design: Design) -> str:
    """Write a module that is 1 if the netlist differs from the design, whose registers are 0.

    Both are reset in the first cycle. After it handshakes are alike, and what a valid one offers.
    """
    emission = Emission(design)
    clock, reset = (port["name"] for port in emission.ports[:2])
    ports = {port["is"]: port for port in emission.ports}
    pins = ", ".join(
        f"input [{port['width'] - 1}:0] {port['name']}"
        for port in ports.values()
        if port["direction"] == "input"
    )
    lines, differ = [], []
    for path, port in ports.items():
        if port["direction"] == "output":
            name = port["name"]
            lines.append(f"wire [{port['width'] - 1}:0] one_{name}, two_{name};")
            channel = re.match(r"(\w+)\.payload\b", path)
            valid = f"one_{ports[f'{channel[1]}.valid']['name']} && " if channel else ""
            differ.append(f"{valid}one_{name} != two_{name}")
    for copy, module in (("one", "gold"), ("two", "gate")):
        given = {
            port["name"]: port["name"] if port["direction"] == "input" else f"{copy}_{port['name']}"
            for port in ports.values()
        } | {reset: f"{reset} || !begun"}
        lines.append(f"{module} {copy} ({', '.join(f'.{a}({b})' for a, b in given.items())});")
    return "\n".join([
        f"module miter({pins}, output bad);",
        "reg begun = 0;",
        f"always @(posedge {clock}) begun <= 1;",
        *lines,
        f"assign bad = begun && ({' || '.join(f'({one})' for one in differ)});",
        "endmodule\n",
    ])


def equal(design: Design, netlist: Path, models: Path, folder: Path) -> bool:
    """Whether ABC proves the netlist equal to the design, whatever its registers begin with."""
    (folder / "rtl.v").write_text(Emission(design).verilog)
    (folder / "miter.v").write_text(miter(design))
    (folder / "netlist.v").write_text(netlist.read_text())
    (folder / "models.v").write_text(models.read_text())
    log = yosys.run(
        f"read_verilog models.v netlist.v\nrename {design.module} gate\n"
        f"read_verilog rtl.v\nrename {design.module} gold\nread_verilog miter.v\n"
        "hierarchy -top miter\nproc\nflatten\nopt -full\ntechmap\nopt -full\ndffunmap\n"
        "setundef -zero\nopt_clean -purge\nstat\naigmap\nopt_clean -purge\n"
        # Registers without a first value get an input for it.
        "write_aiger -zinit miter.aig",
        cwd=folder,
    )
    assert int(re.findall(r"(\d+)\s+\$_DFF_P_$", log, re.MULTILINE)[-1]) > 2
    return proven(folder, "miter", SECONDS)


@pytest.mark.parametrize(
    ("name", "parameters"), CASES, ids=lambda one: one if isinstance(one, str) else case_name(one)
)
def test_nothing_from_before_the_reset_comes_out(
    name: str, parameters: dict[str, Any], tmp_path: Path
) -> None:
    design = Design(name, parameters)
    netlist, models = netlist_sources(design, cells.osu018(), tmp_path)
    assert equal(design, netlist, models, tmp_path)
    # A gate of another kind is seen.
    for other, gate in (("NAND2X1", "NOR2X1"), ("NOR2X1", "NAND2X1")):
        broken = tmp_path / "broken.v"
        broken.write_text(re.sub(rf"\b{gate}\b", other, netlist.read_text(), count=1))
        if broken.read_text() != netlist.read_text():
            assert not equal(design, broken, models, tmp_path)


@pytest.mark.prove
def test_icarus_ends_with_an_x_all_the_same(tmp_path: Path) -> None:
    design = Design("opt1", SHOWS_X)
    sources = netlist_sources(design, cells.osu018(), tmp_path)
    for simulator, ok in (("verilator", True), ("icarus", False)):
        found = runner.verify(
            design,
            seed=1,
            netlist=sources,
            simulator=simulator,
            directory=tmp_path,
            tests=runner.named("test_operand_pairs"),
        )
        assert found.ok == ok
        assert ("X or Z in" in found.log.read_text()) != ok
