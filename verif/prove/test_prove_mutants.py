"""Mutants of circuits: proven are those, and only those, that are right for all values."""

import random
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from carrysave.asic.bench_job import netlist_sources
from carrysave.asic.liberty.cells import cell_models, osu018
from carrysave.prove.circuit import circuit_of, design_of
from carrysave.prove.core import Core, NotUnderstoodError
from carrysave.prove.counterexample import wrong
from carrysave.prove.netlist import Cells, netlist_circuit
from carrysave.prove.prove import Proof, prove
from carrysave.prove.proving import Verdict
from golden.pe.mac import MacSpec
from verif.support.cases import brief

TINY = {"a_width": "3", "b_width": "3", "accumulator_width": "6"}
CASES = [
    ("opt1", TINY, 20),
    ("mac", TINY, 20),
    ("opt1", TINY | {"encoding": "booth", "b_signed": "false", "pipeline": "1"}, 100),
    ("mac", TINY | {"adder": "kogge_stone", "encoding": "none", "a_signed": "false"}, 100),
    ("opt2", {"k": "1", "a_width": "2", "b_width": "2", "accumulator_width": "4"}, 100),
    ("opt1", {"a_width": "4", "b_width": "4", "accumulator_width": "6"}, 200),
]


def mutant(circuit: str, draw: random.Random) -> str:
    """Change an input of a gate: inverted, stuck, or another one's."""
    lines = circuit.splitlines()
    _, inputs, registers, outputs, gates = map(int, lines[0].split()[1:6])
    at = 1 + inputs + registers + outputs + draw.randrange(gates)
    gate, one, two = map(int, lines[at].split())
    changes = [(one ^ 1, two), (one, two ^ 1), (two, two), (draw.randrange(2), two)]
    one, two = draw.choice(changes)
    lines[at] = f"{gate} {one} {two}"
    return "\n".join([*lines, ""])


def right_for_all(core: Core, proof: Proof, spec: MacSpec) -> bool:
    """Evaluate the step for all values of its inputs, in numpy, by nothing of the prover.

    A few mutants have more registers, and of more than 18 inputs so many values are drawn.
    """
    statement = proof.parts[-1].statement
    aig = statement.aig
    rows = np.arange(1 << min(len(aig.names), 18), dtype=np.int64)
    draw = np.random.default_rng(1)
    values = [np.packbits(np.zeros(len(rows), bool))] * len(aig.gates)
    for place, node in enumerate(aig.names):
        bits = rows >> place & 1 if len(aig.names) <= 18 else draw.integers(0, 2, len(rows))
        values[node] = np.packbits(bits.astype(bool))

    def packed(literal: int) -> np.ndarray:
        return ~values[literal >> 1] if literal & 1 else values[literal >> 1]

    def bit(literal: int) -> np.ndarray:
        return np.unpackbits(packed(literal)).astype(np.int64)

    def number(bits: list[int], signed: bool) -> np.ndarray:
        total = np.sum([bit(read) << at for at, read in enumerate(bits)], axis=0)
        return total - (bit(bits[-1]) << len(bits)) if signed else total

    for node, gate in enumerate(aig.gates):
        if gate is not None:
            values[node] = packed(gate[0]) & packed(gate[1])
    before = sum(weight * bit(read) for weight, read in statement.before)
    after = sum(weight * bit(read) for weight, read in statement.after)
    products = sum(
        number(list(core.a[pair * spec.a_width :][: spec.a_width]), spec.a_signed)
        * number(list(core.b[pair * spec.b_width :][: spec.b_width]), spec.b_signed)
        for pair in range(spec.k)
    )
    expected = np.where(bit(core.clear), 0, before) + np.where(bit(core.taken), products, 0)
    return not ((after - expected) % (1 << core.width)).any()


@pytest.mark.parametrize(("name", "texts", "count"), brief(CASES, 0, 1))
def test_mutants_are_proven_only_if_they_are_right(
    name: str, texts: dict[str, str], count: int
) -> None:
    design, draw = design_of(name, texts), random.Random(count)
    circuit = circuit_of(design)
    refuted = 0
    for _ in range(count):
        try:
            proof = prove(mutant(circuit, draw), design.spec)
        except NotUnderstoodError:
            continue
        assert proof.verdict is not Verdict.OPEN
        if proof.core is not None and proof.parts[-1].name == "step":
            right = right_for_all(proof.core, proof, design.spec)
            assert right == (proof.verdict is Verdict.PROVEN)
        if proof.verdict is Verdict.REFUTED:
            refuted += 1
            fault = proof.parts[-1].fault if proof.parts else None
            assert fault is not None or proof.shown is not None
            if fault is not None:
                assert wrong(proof.parts[-1].statement, fault.inputs, 1) == 1
    assert refuted >= count // 3


def test_mutants_of_netlists_are_proven_only_if_they_are_right(tmp_path: Path) -> None:
    design, draw = design_of("opt1", TINY), random.Random(3)
    circuit = circuit_of(design)
    library = osu018()
    netlist = netlist_sources(design, library, tmp_path)[0].read_text()
    mapped = netlist_circuit(design.module, netlist, Cells(cell_models(library)))
    verdicts = Counter[Verdict]()
    for _ in range(30):
        try:
            proof = prove(circuit, design.spec, netlist=mutant(mapped, draw))
        except NotUnderstoodError:
            continue
        verdicts[proof.verdict] += 1
        if proof.core is not None:
            right = right_for_all(proof.core, proof, design.spec)
            assert right == (proof.verdict is Verdict.PROVEN)
    assert verdicts[Verdict.REFUTED] >= 10
    assert not verdicts[Verdict.OPEN]


def test_proofs_do_not_need_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """Algebra alone decides most, and has values for which a sum is wrong."""
    monkeypatch.setattr("carrysave.prove.proving.search", lambda *_, **__: None)
    monkeypatch.setattr("carrysave.prove.proving.LIMIT", 4000)
    design, draw = design_of("opt1", TINY), random.Random(7)
    circuit = circuit_of(design)
    verdicts = []
    for _ in range(20):
        try:
            proof = prove(mutant(circuit, draw), design.spec)
        except NotUnderstoodError:
            continue
        verdicts.append(proof.verdict)
        if proof.core is not None and proof.verdict is not Verdict.OPEN:
            right = right_for_all(proof.core, proof, design.spec)
            assert right == (proof.verdict is Verdict.PROVEN)
    assert verdicts.count(Verdict.REFUTED) >= 8
    assert verdicts.count(Verdict.OPEN) <= 4
