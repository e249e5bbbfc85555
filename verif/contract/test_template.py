"""Contracts of atoms: the least that moves handshakes, proven, and two runs without each atom."""

from pathlib import Path
from typing import Any

import pytest

from carrysave.contract import stages
from carrysave.contract.atoms import Slice
from carrysave.contract.handshakes import CORE, Handshakes, handshakes_of
from carrysave.contract.miter import Verdict
from carrysave.contract.operands import Beats
from carrysave.contract.stages import depends_only
from carrysave.contract.synthesis import atoms_of
from carrysave.contract.template import template_of
from hw.catalog import CATALOG, Design
from hw.emit import yosys
from verif.contract.test_contract import check_witness
from verif.support.cases import case_name, long
from verif.support.command import Run
from verif.support.schemas import check

SECONDS = 60
"""For each step, on a machine that does other work, too."""
SMALL = {"a_width": 3, "b_width": 3}
TILE = {"m": 2, "n": 2}
ROWS = "max(1, max over rows of naf_digits(i_a_data))"
CODES = "max(1, max over codes of naf_digits(i_a))"
PRODUCT = "max(1, max over codes of naf_digits(i_a) x naf_digits(i_b))"
Case = tuple[str, dict[str, Any], set[str]]
SERIAL: list[Case] = [
    ("opt3", SMALL, {"max(1, naf_digits(i_a))"}),
    ("opt3", {}, {"max(1, naf_digits(i_a))"}),
    ("opt3", {"encoding": "booth"}, {"max(1, booth_digits(i_a))"}),
    ("opt3", {"k": 3}, {"max(1, sum of naf_digits(i_a))"}),
    ("opt3", {"a_recoded": True}, {"max(1, given_digits(i_a))"}),
    ("opt4c", {}, {"max(1, naf_digits(i_a))"}),
    ("opt4e", {}, {CODES}),
    ("opt4e", {"k": 6}, {"max(1, max over 4 lanes of naf_digits(i_a))"}),
    ("laconic", {"k": 2}, {PRODUCT}),
    ("digit_column", TILE, {ROWS}),
    ("over_weights", TILE, set()),
    # Which formats take two passes depends on both.
    ("sl16", {}, {"value(i_a_format)", "value(i_b_format)"}),
    # Too large for runs that are drawn to get far: a solver has what refutes.
    ("lut_unit", TILE | {"k_max": 8}, {"value(i_op_data)"}),
]
CONSTANT: list[Case] = [
    ("opt3", {"constant_time": True}, set()),
    ("opt4c", {"constant_time": True}, set()),
    ("opt4e", {"constant_time": True}, set()),
    ("digit_column", TILE | {"constant_time": True}, set()),
    ("mac", SMALL, set()),
]
ALL = [*SERIAL, *CONSTANT]


def names(cases: list[Case]) -> list[str]:
    return [f"{name}-{case_name(how)}" for name, how, _ in cases]


@pytest.mark.parametrize(
    ("name", "parameters", "atoms"),
    [SERIAL[0], *long(SERIAL[1:]), CONSTANT[0], *long(CONSTANT[1:])],
    ids=names(ALL),
)
def test_atoms_are_the_least(name: str, parameters: dict[str, Any], atoms: set[str]) -> None:
    """Each is proven to be enough, and Icarus sees two runs differ without it."""
    design = Design(name, parameters)
    core = handshakes_of(design)
    contract = atoms_of(design, core, SECONDS)
    assert {atom.name for atom in contract.chosen} == atoms
    assert contract.proven
    assert set(contract.without) == atoms
    for left, witness in contract.without.items():
        check_witness(design, core, witness)
        offered = [
            (one, {**one, **other})
            for one, other in zip(witness.inputs, witness.other, strict=True)
            if all(one[str(core.channel(each))] for each in witness.other[0])
        ]
        for atom in contract.chosen:
            runs = (
                atom.of(Beats({key: [each[run][key] for each in offered] for key in atom.fields}))
                for run in (0, 1)
            )
            one, two = runs
            assert (one == two) == (atom.name != left)


WEAKER = ["nonzero(i_a)", "sign(i_a)", "max(1, booth_digits(i_a))"]


def weaker(name: str) -> tuple[Design, Handshakes, Any]:
    design = Design("opt3", {"a_width": 4, "b_width": 3})
    core = handshakes_of(design)
    (atom,) = (each for each in template_of(design, core) if each.name == name)
    return design, core, atom


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", WEAKER)
def test_what_tells_less_has_a_counterexample(name: str) -> None:
    design, core, atom = weaker(name)
    answer = depends_only(core, ("i_a",), (atom,), SECONDS)
    assert answer.verdict is Verdict.DEPENDS
    check_witness(design, core, answer.witness)
    free = depends_only(core, ("i_a",), (atom, atom), SECONDS)
    assert free.verdict is Verdict.DEPENDS
    check_witness(design, core, free.witness)


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", WEAKER)
def test_steps_do_not_prove_what_is_wrong(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the search that comes first, a step is refuted."""
    _, core, atom = weaker(name)
    monkeypatch.setattr(stages, "shortest", lambda *_: (None, False))
    assert depends_only(core, ("i_a",), (atom,), SECONDS).verdict is Verdict.DEPENDS


STREAM = f"""
module {CORE}(input clk, input rst, input i_valid, input [1:0] i_f, output i_ready, output o_valid);
reg offered = 0;
reg [1:0] f = 0;
always @(posedge clk) begin offered <= i_valid && !offered && !rst; f <= i_f; end
assign i_ready = READY;
assign o_valid = VALID;
endmodule
"""
VALUE = Slice("value(i_f)", "i_f", 0, 2)
LOW = Slice("low(i_f)", "i_f", 0, 1)
HIGH = Slice("high(i_f)", "i_f", 1, 1)
STREAMS = [
    ("1", "i_valid & ^i_f", (), Verdict.DEPENDS),
    ("1", "i_valid & ^i_f", (LOW,), Verdict.DEPENDS),
    ("1", "i_valid & ^i_f", (VALUE,), Verdict.INDUCTION),
    ("1", "i_valid & ^i_f", (LOW, HIGH), Verdict.INDUCTION),
    ("1", "i_valid & i_f[0]", (LOW,), Verdict.INDUCTION),
    # Of what is not offered nothing is known.
    ("1", "i_f[0]", (VALUE,), Verdict.DEPENDS),
    ("1", "i_f[0]", (VALUE, LOW), Verdict.DEPENDS),
    # What is offered stays: it cannot differ in the next cycle.
    ("offered", "offered & i_valid & f != i_f", (), Verdict.INDUCTION),
    ("offered", "offered & i_valid & f != i_f", (VALUE, LOW), Verdict.INDUCTION),
    ("1", "offered & i_valid & f != i_f", (), Verdict.DEPENDS),
]


@pytest.mark.sample(2)
@pytest.mark.parametrize(("ready", "valid", "atoms", "verdict"), STREAMS)
def test_beats_are_what_is_offered(
    ready: str, valid: str, atoms: tuple[Slice, ...], verdict: Verdict, tmp_path: Path
) -> None:
    text = STREAM.replace("READY", ready).replace("VALID", valid)
    (tmp_path / "core.v").write_text(text)
    yosys.run("read_verilog core.v\nproc\nwrite_rtlil core.il", cwd=tmp_path)
    netlist = (tmp_path / "core.il").read_text()
    core = Handshakes(
        "beats",
        "clk",
        "rst",
        ("i_valid",),
        {"i_f": 2},
        ("i_ready", "o_valid"),
        ("i_f",),
        netlist,
    )
    assert depends_only(core, ("i_f",), atoms, SECONDS).verdict is verdict


def test_json_has_its_schema(run: Run) -> None:
    result = run("contract", "opt3", "-p", "a_width=3", "--template", "--json", "--secret", "i_b")
    assert result.code == 0
    facts = check("contract_template", result.out)
    assert [atom["name"] for atom in facts["atoms"]] == ["max(1, naf_digits(i_a))"]
    assert facts["proven"]
    assert facts["controls"] == ["rst", "i_valid", "o_ready", "i_last"]


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("opt3", "-p", "a_width=3"), 0, "proven by induction"),
        (("opt3", "-p", "a_width=3", "--secret", "i_a"), 1, "not proven secret: i_a"),
        (("mac", "--secret", "i_a"), 0, "no gate leads from it"),
        (("mac", "--secret", "i_last"), 2, "--secret must be an input that is no handshake"),
    ],
)
def test_exit_codes(run: Run, arguments: tuple[str, ...], code: int, says: str) -> None:
    result = run("contract", *arguments, "--template")
    assert result.code == code
    assert says in (result.out + result.err)


def test_what_is_not_proven_fails(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yosys, "never", lambda *_, **__: None)
    result = run("contract", "opt3", "-p", "a_width=3", "--template", "--secret", "i_b")
    assert result.code == 1
    assert "not proven in time, nor refuted" in result.out
    assert "not proven secret: i_b" in result.err


def test_every_design_has_atoms_of_its_operands() -> None:
    """A new serial design is looked at, too: those of golden's cycles are all here."""
    tested = {name for name, _, _ in ALL}
    for name in ("laconic", "opt3", "opt4c", "opt4e", "digit_column", "over_weights"):
        assert name in CATALOG
        assert name in tested
