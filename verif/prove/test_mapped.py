"""Netlists of synthesis: proven beside their design, and refuted where a cell is another one."""

import re
import runpy
from pathlib import Path

import pytest

from carrysave.asic.bench_job import netlist_sources
from carrysave.asic.liberty import cells
from carrysave.prove.aig import Aig
from carrysave.prove.circuit import circuit_of, design_of
from carrysave.prove.core import NotUnderstoodError
from carrysave.prove.equal_gates import equal_gates, needed
from carrysave.prove.netlist import FAMILIES, Cells, mapped_for, netlist_circuit
from carrysave.prove.polynomial import Polynomial, add, literal, product
from carrysave.prove.prove import Proof, prove
from carrysave.prove.proving import Verdict
from verif.support.cases import long
from verif.support.command import Run
from verif.support.gated import gated_osu018
from verif.support.schemas import check

ROOT = Path(__file__).resolve().parents[2]
CHECK = runpy.run_path(str(ROOT / "scripts" / "check_proof.py"))["check"]
SMALL = {"a_width": "3", "b_width": "3", "accumulator_width": "8"}
WIDE = {"a_width": "16", "b_width": "16", "accumulator_width": "40"}
OTHERS = {
    "XOR2X1": "XNOR2X1",
    "NAND2X1": "NOR2X1",
    "AOI21X1": "OAI21X1",
    "OR2X2": "AND2X2",
}
"""Cells, and those of the same pins that compute something else."""


def library_cells(library: cells.Library) -> Cells:
    gates = {cell.name: cell.gate for cell in library.cells.values() if cell.gate}
    return Cells(cells.cell_models(library), gates)


def proof_of(name: str, texts: dict[str, str], target: str, folder: Path) -> Proof:
    design = design_of(name, texts)
    if target in FAMILIES:
        known, netlist = FAMILIES[target], mapped_for(design, target)
    else:
        library = gated_osu018(folder) if target == "gated" else cells.osu018()
        known, netlist = (
            library_cells(library),
            netlist_sources(design, library, folder)[0].read_text(),
        )
        assert ("CKGATE" in netlist) == (target == "gated")
    circuit = netlist_circuit(design.module, netlist, known)
    return prove(circuit_of(design), design.spec, netlist=circuit, folder=folder / "proof")


@pytest.mark.parametrize(
    ("name", "texts", "target"),
    [
        ("opt1", SMALL, "osu018"),
        ("opt1", SMALL, "gated"),
        ("opt1", SMALL, "ecp5"),
        *long([
            ("mac", SMALL, "osu018"),
            ("opt2", SMALL | {"k": "2"}, "osu018"),
            ("opt1", SMALL | {"encoding": "booth", "k": "2", "a_signed": "false"}, "osu018"),
            ("opt1", WIDE, "osu018"),
            ("opt1", WIDE, "ecp5"),
        ]),
    ],
)
def test_netlists_are_proven(name: str, texts: dict[str, str], target: str, tmp_path: Path) -> None:
    proof = proof_of(name, texts, target, tmp_path)
    assert proof.verdict is Verdict.PROVEN, proof.parts[-1].why
    assert all(part.equal > 0 for part in proof.parts)
    certified = [part for part in proof.parts if not part.why]
    assert len(proof.files) == 4 * len(certified)
    for part in certified:
        assert "proven for" in CHECK(tmp_path / "proof" / f"{part.name}.json")
    # Only tables, which hide the wires of adders, need SAT at this width.
    assert (len(certified) == len(proof.parts)) or (target, texts) == ("ecp5", WIDE)


def test_another_cell_is_refuted(tmp_path: Path) -> None:
    """Each cell of some kinds becomes another one: no proof but of what is no fault."""
    design = design_of("opt1", SMALL)
    known = library_cells(cells.osu018())
    netlist = netlist_sources(design, cells.osu018(), tmp_path)[0].read_text()
    circuit = circuit_of(design)
    refuted = proven = 0
    for cell, other in OTHERS.items():
        for place in [each.start() for each in re.finditer(rf"\b{cell}\b", netlist)][:4]:
            broken = netlist[:place] + netlist[place:].replace(cell, other, 1)
            try:
                proof = prove(
                    circuit, design.spec, netlist=netlist_circuit(design.module, broken, known)
                )
            except NotUnderstoodError:
                continue  # of another structure, but no sum is wrong
            if proof.verdict is Verdict.REFUTED:
                refuted += 1
                assert proof.shown is not None or proof.parts[-1].fault is not None
                if proof.shown is not None:
                    assert proof.shown.netlist != proof.shown.golden
            else:
                proven += 1
    assert refuted >= 10
    assert proven <= 2  # a handshake's gate is no part of a sum


def test_outputs_in_each_others_place_are_not_proven(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each equals one of the design's, but not its own: without drawn operands it stays open."""
    design, library = design_of("opt1", SMALL), cells.osu018()
    netlist = netlist_sources(design, library, tmp_path)[0].read_text()
    lines = netlist_circuit(design.module, netlist, library_cells(library)).splitlines()
    _, inputs, registers, *_ = map(int, lines[0].split()[1:])
    names = {line.split()[-1]: line.split()[0][1:] for line in lines if line.startswith("l")}
    one, two = (1 + inputs + int(names[f"o_sum[{bit}]"]) for bit in (2, 3))
    first, second = lines[one].split(), lines[two].split()
    lines[one], lines[two] = f"{first[0]} {second[1]}", f"{second[0]} {first[1]}"
    assert max(one, two) <= inputs + registers
    monkeypatch.setattr("carrysave.prove.proving.search", lambda *_, **__: None)
    proof = prove(circuit_of(design), design.spec, netlist="\n".join([*lines, ""]))
    assert proof.verdict is Verdict.OPEN
    assert proof.shown is not None


def two_circuits() -> tuple[Aig, int, int, tuple[int, int]]:
    """X ^ y in the design, and in a netlist by other gates; and a gate of both that is no XOR."""
    aig = Aig()
    x, y, z = (aig.input(name) for name in "xyz")
    design = aig.both(aig.both(x, y) ^ 1, aig.both(x ^ 1, y ^ 1) ^ 1)
    guide = len(aig.gates)
    netlist = aig.both(aig.both(x, y ^ 1) ^ 1, aig.both(x ^ 1, y) ^ 1) ^ 1
    third = aig.both(netlist, z)
    return aig, guide, design, (netlist, third)


def test_equal_gates_follow_from_their_definitions() -> None:
    """The factors are those of the proof: what is multiplied by them adds up to the claim."""
    aig, guide, design, (netlist, third) = two_circuits()
    equal = equal_gates(aig, guide)
    node = netlist >> 1
    assert equal[node].read ^ (netlist & 1) == design
    assert third >> 1 not in equal
    assert needed(equal, [third >> 1]) == []
    assert needed(equal, [node]) == [node]
    total: Polynomial = {}
    for each, factor in equal[node].factors.items():
        gate = aig.gates[each]
        assert gate is not None
        axiom: Polynomial = {(each,): 1}
        add(axiom, product(literal(gate[0]), literal(gate[1])), -1)
        add(total, product(factor, axiom))
    claim: Polynomial = {(node,): 1}
    add(claim, literal(equal[node].read), -1)
    assert total == claim


def test_gates_that_differ_once_in_a_million_times_are_not_equal() -> None:
    """Values that are drawn do not show it."""
    aig = Aig()
    x, y, *more = (aig.input(str(number)) for number in range(22))
    both = aig.both(x, y)
    guide = len(aig.gates)
    every = more[0]
    for each in more[1:]:
        every = aig.both(every, each)
    assert aig.both(both, every ^ 1) >> 1 not in equal_gates(aig, guide)
    assert every >> 1 not in equal_gates(aig, guide)


ARGUMENTS = [word for key, value in SMALL.items() for word in ("-p", f"{key}={value}")]


def test_a_netlist_of_ones_own_is_proven(run: Run, tmp_path: Path) -> None:
    netlist = netlist_sources(design_of("opt1", SMALL), cells.osu018(), tmp_path)[0]
    command = ("prove", "opt1", *ARGUMENTS, "--mapped", "osu018", "--verilog", str(netlist))
    said = run(*command, "--json")
    assert said.code == 0
    facts = check("prove", said.out)
    assert facts["mapped"] == "osu018"
    assert facts["parts"][-1]["equal"] > 0
    assert "gates of the netlist equal the design's" in run(*command).out


def test_other_targets_are_refused(run: Run) -> None:
    said = run("prove", "opt1", "--mapped", "sparc")
    assert (said.code, said.out) == (2, "")
    assert "--mapped must be" in said.err
    assert "ecp5" in said.err
