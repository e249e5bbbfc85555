"""Atoms: gates and golden agree, and golden's cycles are a function of those of a contract."""

from collections.abc import Callable
from itertools import combinations, pairwise
from math import prod
from typing import Any

import numpy as np
import pytest

from carrysave.contract.atom_logic import VALUES, value_logic, value_width
from carrysave.contract.atoms import Slice
from carrysave.contract.cheapest import cheapest
from carrysave.contract.handshakes import handshakes_of
from carrysave.contract.operands import Beats
from carrysave.contract.template import template_of
from carrysave.prove.aig import Step
from golden.pe.mac import MacSpec
from hw.catalog import Design
from hw.emit import tools, yosys
from verif.contract.test_template import ALL, names
from verif.support.cases import brief, case_name

PAIRS = 10_000
TEMPLATES: list[tuple[str, dict[str, Any]]] = [
    ("opt4e", {"k": 3, "a_width": 4}),
    ("opt4e", {"k": 6, "a_signed": False}),
    ("laconic", {"k": 2, "a_width": 5}),
    ("digit_column", {"m": 2, "n": 2, "k": 2, "a_width": 4, "a_recoded": True}),
]


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("name", "parameters"), TEMPLATES, ids=[f"{n}-{case_name(how)}" for n, how in TEMPLATES]
)
def test_gates_are_as_golden(name: str, parameters: dict[str, Any]) -> None:
    """Digits are counted by golden's recoders and by those of the hardware."""
    design = Design(name, parameters)
    core = handshakes_of(design)
    atoms = template_of(design, core)
    fields = [each for each in core.reaching if each not in core.known]
    draw, count = np.random.default_rng(1), 1024
    bits = {key: draw.integers(0, 2, (core.fields[key], count)) for key in fields}
    beats = Beats({
        key: [sum(int(bit) << at for at, bit in enumerate(column)) for column in rows.T]
        for key, rows in bits.items()
    })
    with tools.workplace() as folder:
        (folder / "values.il").write_text(value_logic(core, atoms))
        yosys.run(
            f"read_rtlil values.il\nhierarchy -top {VALUES}\nproc\nflatten\nopt\ntechmap\nopt\n"
            "aigmap\nopt_clean -purge\nwrite_aiger -ascii -symbols values.aag",
            cwd=folder,
        )
        step = Step.parse((folder / "values.aag").read_text(), {})
    given = {f"{key}[{at}]": pack(row) for key, rows in bits.items() for at, row in enumerate(rows)}
    values = step.aig.evaluate(given, count)
    low = 0
    for atom in atoms:
        total = [0] * count
        for bit in range(value_width(atom)):
            literal = step.outputs[f"o[{low + bit}]"]
            word = values[literal >> 1] ^ ((1 << count) - 1 if literal & 1 else 0)
            total = [each | (word >> run & 1) << bit for run, each in enumerate(total)]
        assert total == atom.of(beats), atom.name
        low += value_width(atom)
        if not isinstance(atom, Slice):
            for value, inputs in atom.states.items():
                assert atom.of(Beats({key: [inputs.get(key, 0)] for key in fields})) == [value]


def pack(row: np.ndarray) -> int:
    return sum(int(bit) << at for at, bit in enumerate(row))


def alike(atoms: list[list[int]], draw: np.random.Generator) -> list[tuple[int, int]]:
    """Pair beats of which all atoms are alike."""
    beats = list(zip(*atoms, strict=True)) if atoms else [()] * (2 * PAIRS + 1)
    order = sorted(draw.permutation(len(beats)).tolist(), key=lambda beat: beats[beat])
    pairs = [(one, two) for one, two in pairwise(order) if beats[one] == beats[two]]
    return [pairs[number] for number in draw.permutation(len(pairs))[:PAIRS]]


GOLDEN = [case for case in ALL if case[0] not in {"sl16", "mac"}]
QUICK = names(GOLDEN).index("laconic-k2")


@pytest.mark.parametrize(
    ("name", "parameters", "atoms"), brief(GOLDEN, 0, QUICK), ids=names(GOLDEN)
)
def test_golden_cycles_are_a_function_of_atoms(
    name: str, parameters: dict[str, Any], atoms: set[str]
) -> None:
    """The twin knows nothing of gates: 10,000 pairs of other operands take the same time."""
    design, draw = Design(name, parameters), np.random.default_rng(1)
    spec, core = design.spec, handshakes_of(design)
    chosen = [atom for atom in template_of(design, core) if atom.name in atoms]
    assert len(chosen) == len(atoms)
    count = 2 * PAIRS + 100
    shapes: dict[str, tuple[int, ...]] = {"a": (spec.k,), "b": (spec.k,)}
    if not isinstance(spec, MacSpec):
        shapes = {"a": (spec.m, spec.k), "b": (spec.k, spec.n)}
    codes = {}
    for operand, shape in shapes.items():
        fmt = spec.a_format if operand == "a" else spec.b_format
        drawn = draw.integers(fmt.low, fmt.high + 1, (count, *shape))
        # Many have few digits, or none: else the most of several hardly differs.
        codes[operand] = drawn * draw.integers(0, 2, (count, *shape))
    beats = Beats({
        field: patterns(spec, operand, codes[operand].reshape(count, -1))
        for operand, field in (("a", "i_a"), ("b", "i_b"), ("a", "i_a_data"), ("b", "i_b_data"))
        if field in core.fields
    })
    spent = cycles_of(design, codes["a"], codes["b"])
    pairs = alike([atom.of(beats) for atom in chosen], draw)
    assert len(pairs) == PAIRS
    assert all(spent(one) == spent(two) for one, two in pairs)
    assert len({spent(one) for one, _ in pairs}) > 1 or not atoms


def patterns(spec: Any, operand: str, codes: np.ndarray) -> list[int]:
    """Put codes into one number for each beat, as they are at the port."""
    width = spec.a_code_width if operand == "a" else spec.b_width
    if operand == "a":
        codes = spec.a_patterns(codes)
    places = [(codes[:, number] & (1 << width) - 1).tolist() for number in range(codes.shape[1])]
    return [
        sum(code << number * width for number, code in enumerate(beat))
        for beat in zip(*places, strict=True)
    ]


def cycles_of(design: Design, a: np.ndarray, b: np.ndarray) -> Callable[[int], int]:
    """Return golden's cycles of each beat; of an engine, of a tile of one beat."""
    cycles = design.entry.golden.cycles
    if isinstance(design.spec, MacSpec):
        spent = cycles(design.spec, a, b, np.zeros(len(a), dtype=bool))
        return lambda beat: int(spent[beat])
    return lambda beat: int(cycles(design.spec, [(a[beat], b[beat])], 10))


def test_cheapest_is_the_least_of_all() -> None:
    draw = np.random.default_rng(1)
    for _ in range(60):
        costs = draw.integers(1, 6, 6).tolist()
        sets = [int(each) for each in draw.integers(1, 64, draw.integers(0, 6))]
        chosen = cheapest(costs, sets)
        hits = [
            prod(costs[member] for member in members)
            for size in range(7)
            for members in combinations(range(6), size)
            if all(any(each >> member & 1 for member in members) for each in sets)
        ]
        assert all(any(each >> member & 1 for member in chosen) for each in sets)
        assert prod(costs[member] for member in chosen) == min(hits)
    with pytest.raises(ValueError, match="sets must have members"):
        cheapest([2], [1, 0])
