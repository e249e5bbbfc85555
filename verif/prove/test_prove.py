"""Proofs by algebra: what is proven, what is refuted, and what is refused."""

from pathlib import Path
from typing import Any

import pytest

from carrysave.prove.circuit import circuit_of, design_of
from carrysave.prove.core import NotUnderstoodError
from carrysave.prove.prove import Proof, prove
from carrysave.prove.proving import Verdict
from carrysave.prove.wide import ELEMENTS, WideDesign
from carrysave.regress.mutants import Mutants
from hw.catalog import CATALOG, Design
from hw.emit.verilog import verilog_of
from verif.support.cases import cover, long
from verif.support.command import Run
from verif.support.schemas import check

SMALL = {"a_width": "4", "b_width": "4", "accumulator_width": "10"}
NAMES = ("a_width", "b_width", "accumulator_width", "k", "a_signed", "b_signed")
SHAPES = [
    "4 4 10 1 1 1",
    "5 2 6 2 1 0",
    "3 6 14 3 0 1",
    "2 2 4 1 0 0",
    "6 5 9 1 0 1",
    "4 3 20 2 1 1",
]
BUILDS = [
    *(("opt1", {"pipeline": pipeline}) for pipeline in "012"),
    ("opt2", {}),
    *(("mac", {"adder": adder}) for adder in ("sklansky", "kogge_stone", "ripple", "operator")),
]


def proof_of(name: str, texts: dict[str, str], folder: Path | None = None) -> Proof:
    design = design_of(name, texts)
    return prove(circuit_of(design), design.spec, folder=folder)


@pytest.mark.sample(6)
@pytest.mark.parametrize(
    ("name", "how", "encoding", "shape"), cover(BUILDS, ["ent", "booth", "none"], SHAPES)
)
def test_elements_are_proven(name: str, how: dict[str, str], encoding: str, shape: str) -> None:
    texts = dict(zip(NAMES, shape.split(), strict=True)) | how | {"encoding": encoding}
    proof = proof_of(name, texts)
    assert proof.verdict is Verdict.PROVEN, proof.parts[-1].why
    # Planes are added up in registers of their own; else these are the outputs.
    assert [part.name for part in proof.parts] == ["value"] * (name == "opt2") + ["step"]
    assert len(proof.parts[-1].statement.a) == int(texts["k"])


WIDE = [
    *(("opt1", width, encoding) for width in (16, 32) for encoding in ("ent", "booth", "none")),
    ("opt1", 64, "ent"),
    *(("mac", 16, encoding) for encoding in ("ent", "booth", "none")),
    ("mac", 32, "ent"),
    ("opt2", 16, "ent"),
]


@pytest.mark.parametrize(("name", "width", "encoding"), long(WIDE))
def test_wide_elements_are_proven(name: str, width: int, encoding: str) -> None:
    texts = {"a_width": str(width), "b_width": str(width), "encoding": encoding}
    texts["accumulator_width"] = str(2 * width + 8)
    assert proof_of(name, texts).verdict is Verdict.PROVEN


@pytest.mark.parametrize("name", ELEMENTS)
def test_wide_designs_are_those_of_the_catalogue(name: str) -> None:
    texts = SMALL | {"k": "2"}
    wide, design = WideDesign.of(name, texts), Design.parse(name, texts)
    assert (wide.module, wide.key) == (design.module, design.key)
    assert verilog_of(wide) == verilog_of(design)


def test_specs_that_differ_are_refuted() -> None:
    """A signed element is no unsigned one, nor one of another width."""
    signed, other = design_of("opt1", SMALL), design_of("opt1", SMALL | {"b_signed": "false"})
    proof = prove(circuit_of(signed), other.spec)
    assert proof.verdict is Verdict.REFUTED
    assert proof.shown is not None
    assert proof.shown.netlist != proof.shown.golden
    wider = design_of("opt1", SMALL | {"accumulator_width": "12"})
    proof = prove(circuit_of(signed), wider.spec)
    assert (proof.core, proof.parts, proof.verdict) == (None, (), Verdict.REFUTED)
    assert proof.shown is not None
    assert proof.shown.netlist != proof.shown.golden


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("opt3", {}, "opt3 is not proven by algebra: it takes several cycles for a product"),
    ("systolic_os", {}, "its elements are those of mac, opt1 and opt2"),
    ("lut_core", {}, "its sums are looked up or gated"),
    ("requantiser", {}, "it is no multiply-accumulate of integers between two streams"),
    ("opt1", {"upper": "counter"}, "with upper heap, not counter: a counter is no sum of bits"),
    ("opt1", {"encoding": "operator"}, "with encoding ent or booth or none, not operator"),
    ("mac", {"target": "ecp5"}, "with target generic, not ecp5: blocks of a device have no gates"),
    ("mac", {"a_width": "65"}, r"a_width must be 2..64 bits, not 65"),
    ("mac", {"widht": "5"}, "unknown parameter of mac 'widht'"),
    ("mca", {}, "unknown design 'mca'; did you mean mac"),
]


@pytest.mark.parametrize(("name", "texts", "says"), REFUSED)
def test_others_are_refused_with_the_reason(name: str, texts: dict[str, str], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        design_of(name, texts)


def test_every_design_is_proven_or_refused() -> None:
    for name in CATALOG:
        if name not in ELEMENTS:
            with pytest.raises(NotUnderstoodError, match=f"^{name} is not proven"):
                design_of(name, {})


ARGUMENTS = [word for key, value in SMALL.items() for word in ("-p", f"{key}={value}")]


def test_json_has_its_schema(run: Run, tmp_path: Path) -> None:
    told = run("prove", "opt1", *ARGUMENTS, "--json", "--certificate", str(tmp_path / "proof"))
    assert told.code == 0
    facts = check("prove", told.out)
    assert facts["verdict"] == "proven"
    assert sorted(Path(file).name for file in facts["files"]) == [
        *("step.aag", "step.json", "step.pac", "step.polys"),
    ]
    text = run("prove", "opt1", *ARGUMENTS).out
    assert "proven" in text
    assert "pe.o_done" in text


def test_a_mutant_of_the_verilog_is_refuted(run: Run, tmp_path: Path) -> None:
    mutants = Mutants.of(Design.parse("mac", SMALL), 2, 1)
    codes = set()
    for number in range(1, len(mutants.changes) + 1):
        path = tmp_path / f"{number}.v"
        path.write_text(mutants.one(number))
        told = run("prove", "mac", *ARGUMENTS, "--verilog", str(path), "--json")
        facts = check("prove", told.out)
        assert told.code == (0 if facts["verdict"] == "proven" else 1)
        codes.add(told.code)
        if facts["shown"] is not None:
            text = run("prove", "mac", *ARGUMENTS, "--verilog", str(path)).out
            assert f"the golden twin's {facts['shown']['golden']}" in text
    assert 1 in codes


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "a design must be named: mac, opt1, opt2"),
        (("opt3",), "opt3 is not proven by algebra"),
        (("opt1", "--certificate", __file__), "--certificate must be a folder, not the file"),
    ],
)
def test_wrong_usage(run: Run, arguments: tuple[str, ...], says: str) -> None:
    told = run("prove", *arguments)
    assert (told.code, told.out) == (2, "")
    assert says in told.err
