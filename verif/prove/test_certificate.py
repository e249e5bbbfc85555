"""Certificates of proofs: a program that shares no code accepts them, and no others."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from carrysave.prove.circuit import circuit_of, design_of
from carrysave.prove.prove import prove
from carrysave.prove.proving import Verdict
from verif.support.cases import brief
from verif.support.modules import ROOT

SMALL = {"a_width": "4", "b_width": "4", "accumulator_width": "10"}
CASES = [
    ("opt1", SMALL | {"b_signed": "false"}),
    ("mac", SMALL | {"k": "2"}),
    ("mac", SMALL | {"adder": "kogge_stone", "encoding": "booth"}),
    ("opt2", SMALL | {"k": "2"}),
    *(("mac", {"a_width": size, "b_width": size}) for size in ("8", "16")),
    ("opt1", {"a_width": "32", "b_width": "32", "accumulator_width": "72"}),
]


def written(name: str, texts: dict[str, str], folder: Path) -> list[Path]:
    """Write certificates; return the files of what is claimed."""
    design = design_of(name, texts)
    proof = prove(circuit_of(design), design.spec, folder=folder)
    assert proof.verdict is Verdict.PROVEN
    return sorted(path for path in proof.files if path.suffix == ".json")


def checked(*paths: Path) -> "subprocess.CompletedProcess[str]":
    """Run the checker, without anything of the project."""
    program = [sys.executable, "-I", str(ROOT / "scripts/check_proof.py"), *map(str, paths)]
    return subprocess.run(program, cwd=paths[0].parent, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(("name", "texts"), brief(CASES, *range(4)))
def test_certificates_are_accepted(name: str, texts: dict[str, str], tmp_path: Path) -> None:
    paths = written(name, texts, tmp_path)
    assert [path.stem for path in paths] == ["step"] + ["value"] * (name == "opt2")
    done = checked(*paths)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("proven for") == len(paths)


def test_checker_imports_nothing_of_the_project() -> None:
    text = (ROOT / "scripts/check_proof.py").read_text()
    assert "import carrysave" not in text
    assert "from carrysave" not in text
    assert text.count("\n") <= 300


def facts_changed(change: Callable[[dict[str, Any]], object]) -> Callable[[Path], None]:
    def apply(folder: Path) -> None:
        facts = json.loads((folder / "step.json").read_text())
        change(facts)
        (folder / "step.json").write_text(json.dumps(facts))

    return apply


def replaced(name: str, old: str, new: str) -> Callable[[Path], None]:
    def apply(folder: Path) -> None:
        text = (folder / name).read_text()
        assert old in text
        (folder / name).write_text(text.replace(old, new, 1))

    return apply


def gate_inverted(folder: Path) -> None:
    lines = (folder / "step.aag").read_text().splitlines()
    at = next(number for number, line in enumerate(lines[1:], 1) if line.count(" ") == 2)
    gate, one, two = map(int, lines[at].split())
    lines[at] = f"{gate} {one ^ 1} {two}"
    (folder / "step.aag").write_text("\n".join([*lines, ""]))


def last_step_dropped(folder: Path) -> None:
    lines = (folder / "step.pac").read_text().splitlines()
    (folder / "step.pac").write_text("\n".join([*lines[:-1], ""]))


def claim_made_up(folder: Path) -> None:
    """Conclude the claim from nothing."""
    lines = (folder / "step.pac").read_text().splitlines()
    number, _, rest = lines[-1].partition(" ")
    claim = rest.rpartition(", ")[2]
    first = lines[0].split()[0]
    (folder / "step.pac").write_text(f"{first} % {int(first) - 1}, {claim}\n")
    assert number != first


TAMPERED = {
    "width": (facts_changed(lambda facts: facts.update(width=11)), "not the claim|not follow"),
    "sign": (facts_changed(lambda facts: facts.update(a_signed=False)), "not the claim"),
    "weight": (
        facts_changed(lambda facts: facts["after"][0].__setitem__(0, 4)),
        "not the claim",
    ),
    "operand is a gate": (
        facts_changed(lambda facts: facts["a"][0].__setitem__(0, facts["after"][0][1])),
        "must be different inputs",
    ),
    "operand twice": (
        facts_changed(lambda facts: facts["a"][0].__setitem__(0, facts["a"][0][1])),
        "must be different inputs",
    ),
    "gate": (gate_inverted, "does not follow"),
    "coefficient": (replaced("step.pac", "-2*x", "-4*x"), "does not follow"),
    "last step": (last_step_dropped, "not the claim"),
    "made up": (claim_made_up, "does not follow"),
}


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a certificate that is accepted."""
    folder = tmp_path_factory.mktemp("good")
    written("mac", SMALL, folder)
    return folder


@pytest.mark.parametrize("name", TAMPERED)
def test_certificates_that_are_changed_are_refused(name: str, good: Path, tmp_path: Path) -> None:
    change, says = TAMPERED[name]
    folder = tmp_path / "proof"
    shutil.copytree(good, folder)
    change(folder)
    done = checked(folder / "step.json")
    assert done.returncode == 1
    assert "NOT proven" in done.stderr
    assert any(part in done.stderr for part in says.split("|")), done.stderr
