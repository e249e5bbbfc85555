"""The benches find faults: mutants of the generated Verilog fail, unless they are no faults.

A mutant that passes its bench must be proven equal to the design. `make test` takes the same ones
each time; `make prove` takes others every day, and keeps the scores in build/mutants.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from carrysave.regress.deciding.contract import longest
from carrysave.regress.deciding.equivalence import (
    by_outputs,
    by_reachability,
    by_states,
    decide,
)
from hw.catalog import Design
from hw.emit import yosys
from verif.support.cases import case_name, long
from verif.support.mutants import CASES, LONG, score, stand_in
from verif.support.seeds import of_the_day

MUTANTS, SEED = 10, 1
MOST = 32
"""Mutants of the day."""
SCORES = Path(__file__).resolve().parents[1] / "build" / "mutants"


@pytest.mark.prove
@pytest.mark.parametrize(("name", "parameters"), CASES, ids=lambda one: _id(one))
def test_mutants_are_killed(name: str, parameters: dict[str, Any], tmp_path: Path) -> None:
    found = score(Design(name, parameters), MUTANTS, SEED, tmp_path)
    assert len(found.changes) > MUTANTS // 2
    assert not found.faults, f"survived: {found.told()}"
    assert len(found.killed) > len(found.equal)


@pytest.mark.parametrize(("name", "parameters"), long([*CASES, *LONG]), ids=lambda one: _id(one))
def test_mutants_of_the_day_are_killed(
    name: str, parameters: dict[str, Any], tmp_path: Path
) -> None:
    """Which ones is told with what survives, and by `make prove` at its start."""
    design, seed = Design(name, parameters), of_the_day()
    found = score(design, MOST, seed, tmp_path)
    SCORES.mkdir(parents=True, exist_ok=True)
    told = {
        "design": name,
        "parameters": parameters,
        "seed": seed,
        "mutants": len(found.changes),
        "killed": len(found.killed),
        "equal": len(found.equal),
        "faults": [found.changes[number - 1] for number in found.faults],
    }
    (SCORES / f"{design.module}.json").write_text(json.dumps(told, indent=2) + "\n")
    assert len(found.changes) > MOST // 2
    assert not found.faults, f"survived, of seed {seed}: {found.told()}"
    # What the bench tells from the design is not proven equal.
    assert not by_states(design, tmp_path, found.killed[0])
    for proof in (by_outputs, by_reachability):
        assert not proof(design, tmp_path, found.killed[0], 20)


@pytest.mark.parametrize(("beyond", "equal"), [(0, True), (-1, False)])
def test_tiles_that_are_too_long_make_no_fault(beyond: int, equal: bool, tmp_path: Path) -> None:
    """The mutant of a stand-in gives a row after so many beats; a tile of `k_max` ends."""
    design = Design(*CASES[0])
    limit = longest(design)
    assert limit == ("i_a", 9)
    stand_in(design, f"beats >= {limit[1] + beyond}", tmp_path)
    assert by_outputs(design, tmp_path, 1, 20) is equal


@pytest.mark.parametrize(
    ("fault", "outcome", "says"),
    [
        ("0", "equivalent", "all that can be reached is made alike"),
        ("beats > 8", "unreachable", "no output ever differs under legal inputs"),
        ("beats > 7", "alive", "an output differs 8 cycles after power-up, by legal inputs"),
    ],
)
def test_a_mutant_is_decided(fault: str, outcome: str, says: str, tmp_path: Path) -> None:
    design = Design(*CASES[0])
    stand_in(design, fault, tmp_path)
    found = decide(design, tmp_path, 1)
    assert found.outcome == outcome, found.why
    assert found.why.startswith(says)
    assert (" gate_o_c_valid $end" in found.waves) == (outcome == "alive")


def test_what_is_not_decided_says_what_was_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(yosys, "never", lambda *_, **__: None)
    design = Design(*CASES[0])
    stand_in(design, "beats > 8", tmp_path)
    found = decide(design, tmp_path, 1, 7)
    assert found.outcome == "undecided"
    assert "reachability of outputs and of registers, 7 s each, and induction" in found.why


EXTERNAL = {"m": 1, "n": 2, "lookups": 1, "a_width": 3, "k_max": 9, "generator": "external"}
LOW, HIGH = "i_a_data[4:0]", "i_a_data[9:5]"


@pytest.mark.sample(5)
@pytest.mark.parametrize(
    ("table", "fault", "equal"),
    [
        # Of activations a and b: -a - b, and a - b.
        ("half", f"({LOW} ^ {HIGH}) & 1", True),
        ("half", f"{LOW} == 8", False),
        ("half", f"{LOW} == 9", True),
        ("half", f"{HIGH} == 7", False),
        ("half", f"{HIGH} == 8", True),
        # The tenth is b of the fifth beat, and 0.
        ("half", f"beats == 4 & ((({LOW} + {HIGH}) & 31) != 0)", True),
        ("half", f"beats == 3 & ((({LOW} + {HIGH}) & 31) != 0)", False),
        ("half", f"beats == 4 & {LOW} == 4", False),
        # a, b, and their sum.
        (
            "full",
            "$signed(i_a_data[3:0]) + $signed(i_a_data[7:4]) != $signed(i_a_data[11:8])",
            True,
        ),
        ("full", "i_a_data[11:8] == 6", False),
        ("full", "i_a_data[3:0] == 4", True),
        ("full", "beats == 4 & i_a_data[7:4] != 0", True),
        ("full", "beats == 4 & i_a_data[3:0] != 0", False),
    ],
)
def test_tables_from_outside_are_of_activations(
    table: str, fault: str, equal: bool, tmp_path: Path
) -> None:
    design = Design("lut_core", EXTERNAL | {"table": table})
    assert design.spec.a_code_width == {"half": 5, "full": 4}[table]
    stand_in(design, f"i_a_valid && ({fault})", tmp_path)
    assert by_outputs(design, tmp_path, 1, 20) is equal


ROWS = """
module MODULE(input clk, rst, input i_valid, output i_ready, input [1:0] i_data, input i_last,
    output reg o_valid, input o_ready, output reg [16:0] o_data, output reg o_last,
    input [7:0] mutant);
reg [1:0] count = 0, end_ = 0;
reg [16:0] sum = 0;
reg busy = 0;
initial {o_valid, o_data, o_last} = 0;
assign i_ready = ~busy & ~o_valid;
wire taken = i_valid & i_ready;
wire wrong = WRONG;
always @(posedge clk) begin
    if (o_ready) o_valid <= 0;
    if (taken) begin
        count <= i_last ? 0 : count + 1;
        sum <= (count == 0 ? 0 : sum) + 17'd1001 * i_data;
        if (i_last) {busy, end_} <= {1'b1, count};
    end
    if (busy) {busy, o_valid, o_data, o_last} <= {1'b0, 1'b1, sum ^ wrong, end_ != 3};
    if (rst) {count, busy, o_valid, o_data, o_last} <= 0;
    if (LOST) sum <= 5;
end
endmodule
"""


# Where a result is wrong, or what is left of a sum: and whether rows of one to three values of 0 to
# 3 tell, of which the greatest sum is nine.
FAULTS: list[tuple[str, str, bool]] = [
    ("0", "0", True),
    ("busy & sum > 9009", "0", True),
    ("busy & sum == 9009", "0", False),
    ("busy & sum == 1000", "0", True),
    ("busy & end_ == 2 & sum == 0", "0", False),
    ("busy & end_ == 3", "0", True),
    ("busy & end_ == 0 & sum == 4004", "0", True),
    ("busy & end_ == 1 & sum == 4004", "0", False),
    ("~busy", "0", True),
    ("0", "rst", True),
    ("0", "busy", True),
    ("0", "taken & ~i_last", False),
]


def test_states_of_rows_are_all_visited(tmp_path: Path) -> None:
    design = Design("shiftmax", {"width": 2, "length": 3})
    wrong, lost = (
        " | ".join(f"mutant == {number} & ({each[place]})" for number, each in enumerate(FAULTS, 1))
        for place in (0, 1)
    )
    text = ROWS.replace("MODULE", design.module).replace("WRONG", wrong).replace("LOST", lost)
    (tmp_path / "mutants.v").write_text(text)
    found = [by_states(design, tmp_path, number) for number in range(1, len(FAULTS) + 1)]
    assert found == [equal for *_, equal in FAULTS]


def test_seed_of_the_day_is_the_date_unless_it_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    assert of_the_day() == 1  # of all tests but those of make prove
    monkeypatch.delenv("CARRYSAVE_SEED")
    assert 20_261_124 < of_the_day() < 21_000_000
    monkeypatch.setenv("CARRYSAVE_SEED", "77")
    assert of_the_day() == 77


def _id(one: Any) -> str:
    """Name a case."""
    return one if isinstance(one, str) else case_name(one)
