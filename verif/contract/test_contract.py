"""Contracts of timing: what moves handshakes, and two runs in simulation that show it."""

import json
import os
import random
from pathlib import Path
from typing import Any

import pytest

from carrysave.contract.contract import contract_of, data
from carrysave.contract.handshakes import CORE, Handshakes, handshakes_of
from carrysave.contract.miter import Verdict, Witness, compare
from carrysave.contract.pairs import Pairs
from carrysave.contract.recorded import Recording
from hw.catalog import Design
from hw.emit import tools, yosys
from hw.emit.verilog import Emission
from verif.support.cases import case_name, long
from verif.support.command import Run
from verif.support.schemas import check

SECONDS = 20
SMALL = {"a_width": 3, "b_width": 3}
ARRAY = {"m": 2, "n": 2, **SMALL, "k_max": 9}
LUT = {"m": 2, "n": 2, "lookups": 1, "a_width": 3, "k_max": 9}
Case = tuple[str, dict[str, Any], set[str]]
CONSTANT: list[Case] = [
    ("mac", SMALL, {"i_last"}),
    ("opt3", SMALL | {"constant_time": True}, {"i_last"}),
    ("digit_column", ARRAY | {"constant_time": True}, {"i_a_last"}),
    ("systolic_os", ARRAY, {"i_a_last"}),
]
CONSTANT_LONG: list[Case] = [
    ("opt1", SMALL, {"i_last"}),
    ("opt2", SMALL | {"k": 2}, {"i_last"}),
    ("opt4c", SMALL | {"constant_time": True}, {"i_last"}),
    ("opt4e", SMALL | {"constant_time": True}, {"i_last"}),
    ("lmul", {}, set()),
    ("systolic_ws", ARRAY | {"k": 2}, {"i_a_last"}),
    ("matrix_2d", ARRAY, {"i_a_last"}),
    ("cube", ARRAY | {"k": 2}, {"i_a_last"}),
    ("adder_tree", {"n": 2, "k": 4, **SMALL, "k_max": 9}, {"i_a_last"}),
    ("lut_core", LUT, {"i_a_last"}),
    ("lut_tables", {"lookups": 1, "a_width": 3}, {"i_last"}),
    ("bitserial_core", {"m": 2, "n": 2, "k": 2, "a_width": 3, "k_max": 9}, {"i_a_last"}),
    ("shift_add_core", {"m": 2, "n": 2, "k": 2, "a_width": 3, "k_max": 9}, {"i_a_last"}),
    ("ternary_core", {"m": 2, "n": 2, "k": 2, "a_width": 3, "k_max": 9}, {"i_a_last"}),
    ("over_weights", ARRAY | {"group": 2}, {"i_a_last"}),
    ("sl8", {"formats": "int4,e2m3", "accumulator_width": 13}, {"i_last"}),
    # Some formats take two passes.
    ("sl16", {}, {"i_a_format", "i_b_format", "i_last"}),
    ("npe", {"m": 2, "n": 2}, {"i_a_last"}),
    ("lut_unit", {"m": 2, "n": 2, "k_max": 8}, {"i_op_data"}),
]
CASES = [*CONSTANT, *long(CONSTANT_LONG)]
LEAKS: list[Case] = [
    ("opt3", SMALL, {"i_a"}),
    ("digit_column", ARRAY, {"i_a_data"}),
    ("laconic", SMALL | {"k": 2}, {"i_a", "i_b"}),
    ("opt4c", SMALL, {"i_a"}),
    ("opt4e", SMALL, {"i_a"}),
]


@pytest.mark.parametrize(
    ("name", "parameters", "depends"),
    CASES,
    ids=[f"{name}-{case_name(how)}" for name, how, _ in (*CONSTANT, *CONSTANT_LONG)],
)
def test_time_is_constant(name: str, parameters: dict[str, Any], depends: set[str]) -> None:
    """Timing depends on what steers a design, and on no operand."""
    design = Design(name, parameters)
    found = contract_of(design, handshakes_of(design), SECONDS)
    assert set(found.named(Verdict.DEPENDS)) == depends
    assert not found.named(Verdict.OPEN)


@pytest.mark.parametrize(
    ("name", "parameters", "fields"),
    [LEAKS[0], *long(LEAKS[1:])],
    ids=[f"{name}-{case_name(how)}" for name, how, _ in LEAKS],
)
def test_counterexample_is_one_in_simulation(
    name: str, parameters: dict[str, Any], fields: set[str]
) -> None:
    """Icarus, which has no part in finding them, sees both runs differ at the end alone."""
    design = Design(name, parameters)
    core = handshakes_of(design)
    for field in fields:
        answer = compare(core, field, SECONDS)
        assert answer.verdict is Verdict.DEPENDS
        check_witness(design, core, answer.witness)


def check_witness(design: Design, core: Handshakes, witness: Witness | None) -> None:
    assert witness is not None
    one, two = (simulate(design, run, core.outputs) for run in runs(witness))
    assert one[:-1] == two[:-1]
    assert one[-1] != two[-1]


def test_counterexample_is_found_by_the_bench() -> None:
    """A test of its own bench, and the same with other operands; each stays until it is taken."""
    design = Design("opt3", SMALL)
    core = handshakes_of(design)
    with Pairs(design, core) as pairs:
        witness = pairs.differing("i_a", SECONDS)
    check_witness(design, core, witness)
    assert witness is not None
    one, two = runs(witness)
    for cycles in (one, two):
        told = simulate(design, cycles, ("i_ready",))
        for before, after, ready in zip(cycles, cycles[1:], told, strict=False):
            if before["i_valid"] and ready == "0" and not before["rst"]:
                kept = ("i_valid", "i_a", "i_last")
                assert [before[name] for name in kept] == [after[name] for name in kept]


def test_a_simulation_that_does_not_say_its_end_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else it would pass for one in which nothing differs."""
    design = Design("opt3", SMALL)
    core = handshakes_of(design)
    still = Recording((dict.fromkeys(core.widths, 0),), (0,))
    with Pairs(design, core) as pairs:
        pairs._simulate(still, "i_a", [0])
        (tmp_path / "vvp").write_text("#!/bin/sh\nprintf 'differ 1'\n")
        (tmp_path / "vvp").chmod(0o755)
        monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
        with pytest.raises(RuntimeError, match=r"the simulation of .* has no end: differ 1"):
            pairs._simulate(still, "i_a", [0])


NEVER = f"""
module {CORE}(input clk, input rst, input i_valid, input [3:0] f, output o_valid);
reg [1:0] c = 0;
always @(posedge clk) if (rst) c <= 0; else if (i_valid) c <= c == 2 ? 0 : c + 1;
assign o_valid = i_valid & ~(c == LAST & f[0]);
endmodule
"""


@pytest.mark.parametrize(("last", "verdict"), [(3, Verdict.INDUCTION), (2, Verdict.DEPENDS)])
def test_states_that_are_never_reached_are_no_counterexample(
    last: int, verdict: Verdict, tmp_path: Path
) -> None:
    (tmp_path / "core.v").write_text(NEVER.replace("LAST", str(last)))
    yosys.run("read_verilog core.v\nproc\nwrite_rtlil core.il", cwd=tmp_path)
    core = Handshakes(
        "never",
        "clk",
        "rst",
        ("i_valid",),
        {"f": 4},
        ("o_valid",),
        ("f",),
        (tmp_path / "core.il").read_text(),
    )
    assert compare(core, "f", SECONDS).verdict is verdict


MOVES = {
    "s_axi_awaddr",
    "s_axi_wdata",
    "s_axi_wstrb",
    "m_axi_bresp",
    "m_axi_rdata",
    "m_axi_rresp",
    "m_axi_rlast",
}
BLOCKS: list[tuple[str, dict[str, Any], set[str]]] = [
    ("coprocessor", {"engine": "systolic_os(m=2,n=2)"}, MOVES),
    ("coprocessor", {}, MOVES),
]


@pytest.mark.prove
@pytest.mark.parametrize(("name", "parameters", "depends"), BLOCKS, ids=["small", "default"])
def test_coprocessors_are_decided(name: str, parameters: dict[str, Any], depends: set[str]) -> None:
    """All that comes from memory moves the bus, each by two runs that Icarus confirms."""
    design = Design(name, parameters)
    core = handshakes_of(design)
    found = contract_of(design, core, SECONDS)
    assert set(found.named(Verdict.DEPENDS)) == depends
    assert not found.named(Verdict.OPEN)
    for field in depends:
        check_witness(design, core, found.answers[field].witness)


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("name", "parameters", "field"),
    [("opt3", SMALL | {"constant_time": True}, "i_a"), ("mac", SMALL, "i_b")],
    ids=["opt3", "mac"],
)
def test_other_operands_take_the_same_time(
    name: str, parameters: dict[str, Any], field: str
) -> None:
    design = Design(name, parameters)
    core = handshakes_of(design)
    rng = random.Random(1)
    widths = dict(core.fields) | dict.fromkeys(core.controls, 1)
    cycles = [{key: rng.getrandbits(width) for key, width in widths.items()} for _ in range(300)]
    other = [values | {field: rng.getrandbits(core.fields[field])} for values in cycles]
    one, two = (simulate(design, run, core.outputs) for run in (cycles, other))
    assert one == two
    assert len(set(one)) > 2


def runs(witness: Witness) -> tuple[list[dict[str, int]], list[dict[str, int]]]:
    first = [dict(values) for values in witness.inputs]
    pairs = zip(first, witness.other, strict=True)
    return first, [{**values, **other} for values, other in pairs]


def simulate(design: Design, cycles: list[dict[str, int]], outputs: tuple[str, ...]) -> list[str]:
    """Return the outputs in each cycle, before the clock's edge."""
    emission = Emission(design)
    clock = emission.ports[0]["name"]
    names = {name: None for values in cycles for name in values}
    pins = ", ".join([f".{clock}(clk)", *(f".{name}({name})" for name in (*names, *outputs))])
    lines = ["module bench;", "reg clk = 0;", f"wire {', '.join(outputs)};"]
    widths = {port["name"]: port["width"] for port in emission.ports}
    lines += [f"reg [{widths[name] - 1}:0] {name} = 0;" for name in names]
    lines += [f"{design.module} dut ({pins});", "initial begin"]
    for values in cycles:
        lines += [f"{name} = {widths[name]}'d{value};" for name, value in values.items()]
        lines.append(f'#1 $display("at %b", {{{", ".join(outputs)}}}); clk = 1; #1 clk = 0;')
    with tools.workplace() as folder:
        (folder / "bench.v").write_text("\n".join([*lines, "end", "endmodule", ""]))
        (folder / "design.v").write_text(emission.verilog)
        built = tools.run(["iverilog", "-g2005", "-o", "it", "bench.v", "design.v"], cwd=folder)
        assert built.code == 0, built.output
        told = tools.run(["vvp", "it"], cwd=folder).output
    found = [line.partition(" ")[2] for line in told.splitlines() if line.startswith("at ")]
    assert len(found) == len(cycles)
    assert not set("".join(found)) - set("01")
    return found


def test_json_has_its_schema(run: Run) -> None:
    told = run("contract", "opt3", "-p", "a_width=3", "--json", "--secret", "i_b")
    assert told.code == 0
    found = check("contract", told.out)
    assert found["depends_on"] == ["i_a", "i_last"]
    assert found["independent_of"] == ["i_b"]
    design = Design("opt3", {"a_width": 3})
    again = data(contract_of(design, handshakes_of(design), SECONDS))
    assert json.loads(json.dumps(again)) == found


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("opt3", "--secret", "i_a"), 1, "not proven secret: i_a"),
        (("mac", "--secret", "i_valid"), 2, "--secret must be an input that is no handshake"),
        (("mac", "--secret", "i_c"), 2, "unknown input 'i_c'"),
        (("mac", "--seconds", "0"), 2, "--seconds must be greater than 0 s"),
        (("coprocessor_uart",), 2, "design must have streams or buses"),
    ],
)
def test_exit_codes(run: Run, arguments: tuple[str, ...], code: int, says: str) -> None:
    told = run("contract", *arguments)
    assert told.code == code
    assert says in told.err
