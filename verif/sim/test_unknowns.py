"""Designs from power-up in a simulator that knows x, with x on whatever is not offered."""

import re
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from carrysave.sim import icarus
from carrysave.sim.parameters import describe
from carrysave.sim.runner import Result, run, verify
from carrysave.sim.unknowns import LONG, SHORT, channels_of, shell, shell_name
from hw.catalog import CATALOG, Design
from hw.device import NAMES, PACKINGS, models_of
from hw.emit.verilog import verilog_of
from verif.support.cases import case_name
from verif.test_catalog import SMALL

ARRAY = {"m": 2, "n": 2, "k_max": 20}
WIDE = {"a_width": 12, "b_width": 12}
SIGNS = {"m": 1, "n": 2, "k": 7, "k_max": 20, "a_width": 1, "b_width": 1, "bipolar": True}
# Of each device all models, and one design of each kind of element, lane and core.
CASES: list[tuple[str, dict[str, Any]]] = [
    ("systolic_os", ARRAY | {"target": "ecp5"}),
    ("systolic_os", ARRAY | {"target": "ice40"}),
    ("systolic_os", ARRAY | {"target": "gowin"}),
    ("systolic_os", ARRAY | {"target": "nexus"}),
    ("systolic_os", ARRAY | {"target": "nexus"} | WIDE),
    ("systolic_os", ARRAY | {"target": "nexus", "packing": "none"}),
    ("cube", ARRAY | {"target": "nexus", "k": 4}),
    ("systolic_os", ARRAY | {"target": "xilinx7"}),
    ("bitserial_core", SIGNS | {"counters": "lut6"}),
    ("systolic_os", ARRAY | {"target": "ultrascale"}),
    *((name, SMALL.get(name, {})) for name in ("opt1", "sl8", "requantiser", "vector_unit")),
    ("lut_core", SMALL["lut_core"] | {"m": 1}),
    ("coprocessor_stream", SMALL["coprocessor_stream"]),
    ("mac", {"encoding": "operator"}),
]
ENGINES = ("mac", "systolic_os", "systolic_ws", "cube", "adder_tree", "matrix_2d")
"""Designs that are built for a target."""

QUICK = {"coprocessor_uart": {"divisor": 4}}
"""What makes a bench shorter in an event-driven simulator."""


def named(case: tuple[str, dict[str, Any]]) -> str:
    return f"{case[0]}-{case_name(case[1])}"


def in_icarus(design: Design, tests: str | None, folder: Path) -> Result:
    return verify(design, seed=1, simulator="icarus", tests=tests, directory=folder, deadline=3000)


@pytest.mark.sample(4)
@pytest.mark.parametrize(("name", "parameters"), CASES, ids=map(named, CASES))
def test_no_x_comes_out(name: str, parameters: dict[str, Any], tmp_path: Path) -> None:
    found = in_icarus(Design(name, parameters), SHORT, tmp_path)
    assert found.ok, f"{found.failed}; see {found.log}"


def test_every_model_is_seen() -> None:
    """The cases above have every model of a device's block."""
    text = "".join(
        verilog_of(Design(name, how)) for name, how in CASES if {"target", "counters"} & {*how}
    )
    folder = Path(models_of("  LUT4 u ()\n")[0]).parent
    assert models_of(text) == sorted(folder.glob("*.v"))


@pytest.mark.prove
@pytest.mark.parametrize("name", CATALOG)
def test_no_x_comes_out_of_any_design(name: str, tmp_path: Path) -> None:
    """With tests of streams that stand still, resets and refusals among them."""
    found = in_icarus(Design(name, SMALL.get(name, {}) | QUICK.get(name, {})), LONG, tmp_path)
    assert found.ok, f"{found.failed}; see {found.log}"


@pytest.mark.prove
@pytest.mark.parametrize(("name", "target"), [*product(ENGINES, NAMES)])
def test_no_x_comes_out_of_any_target(name: str, target: str, tmp_path: Path) -> None:
    """With each packing that the family has for the design."""
    how = SMALL.get(name, {}) | {"target": target}
    passed = 0
    for packing in PACKINGS if "packing" in CATALOG[name].build else PACKINGS[:1]:
        try:
            design = Design(name, how | ({"packing": packing} if packing != PACKINGS[0] else {}))
            design.component()
        except ValueError:
            continue
        found = in_icarus(design, LONG, tmp_path)
        assert found.ok, f"{packing}: {found.failed}; see {found.log}"
        passed += 1
    assert passed


@pytest.mark.prove
def test_every_design_with_a_target_is_here() -> None:
    assert {name for name, entry in CATALOG.items() if "target" in entry.build} == {*ENGINES}


@pytest.mark.parametrize(
    ("right", "wrong", "says"),
    [
        # Operands of B that nobody offers reach the sum.
        (r"if \(\S+ \) (\\i_b\S+  <= i_b;)", r"\1", r"o_sum has x while o_valid is 1: x{32}"),
        (r"(assign i_ready =) [^;]+", r"\1 i_last", "i_ready is neither 0 nor 1: x"),
        (r"(reg \[3:0\] coming)\s*= [^;]+", r"\1", "at 0 i_ready is neither 0 nor 1: x"),
    ],
)
def test_an_x_that_comes_out_is_told(right: str, wrong: str, says: str, tmp_path: Path) -> None:
    design = Design("mac", {"target": "gowin", "dsps": 1})
    text, count = re.subn(right, wrong, verilog_of(design))
    assert count == 1
    (tmp_path / "design.v").write_text(text)
    (tmp_path / "shell.v").write_text(shell(design))
    built = icarus.build([tmp_path / "design.v", tmp_path / "shell.v"], shell_name(design))
    found = run(
        built,
        design.entry.bench,
        parameters=describe(design),
        tests="test_latency",
        seed=1,
        directory=tmp_path / "run",
    )
    assert not found.ok
    assert re.search(f"^rule broken: .*{says}", found.log.read_text(), re.MULTILINE)
    assert "rule broken" in found.xml.read_text()


def test_channels_of_buses_are_seen() -> None:
    """Of a co-processor's three buses, which side says ``valid``, and what belongs to it."""
    component = Design("coprocessor", SMALL["coprocessor"]).component()
    found = {one.valid: one for one in channels_of(component)}
    assert {name for name, one in found.items() if one.inward} == {
        "s_axi_awvalid",
        "s_axi_wvalid",
        "s_axi_arvalid",
        "m_axi_rvalid",
        "m_axi_bvalid",
    }
    assert len(found) == 10
    assert found["m_axi_wvalid"].payload == ("m_axi_wdata", "m_axi_wstrb", "m_axi_wlast")
    assert "m_axi_araddr" in found["m_axi_arvalid"].payload
