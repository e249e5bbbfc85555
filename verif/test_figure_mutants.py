"""The tests of what makes figures find faults: mutants of that code fail, or are argued.

`figure_mutants.json` has each mutant that lives, and why it is no fault. One that lives and is not
listed fails `make prove`, and so does a listed one that is killed, or is no mutant any more.
"""

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from verif.support.code_changes import mutants, sample

ROOT = Path(__file__).resolve().parents[1]
ARGUED = ROOT / "verif" / "figure_mutants.json"
COUNT, SEED = 1000, 1
"""Mutants at most, and which ones; all, if there are fewer."""
LEAST = 300
MODULES = {
    "carrysave/exploration/front.py": "verif/explore/test_front.py",
    "carrysave/exploration/likelihood.py": "verif/explore/test_front.py",
    "carrysave/asic/liberty/tables.py": "verif/asic/test_tables.py",
    "carrysave/asic/liberty/wire_load.py": "verif/asic/test_tables.py",
    "carrysave/asic/liberty/energies.py": "verif/asic/test_tables.py",
    "carrysave/asic/placement/wires.py": "verif/asic/placement/test_wires.py",
    "carrysave/fpga/path.py": "verif/fpga/test_path.py",
    "carrysave/fpga/place.py": "verif/fpga/test_place.py",
    "carrysave/fpga/wrapper.py": "verif/fpga/test_wrapper.py",
    "carrysave/asic/result.py": "verif/asic/test_result.py",
    "carrysave/compiler/program/cost.py": "verif/compiler/test_cost.py",
}
"""What is mutated, and the tests beside it."""


def run(
    count: int, seed: int, files: dict[str, str], root: Path, folder: Path, deadline: float
) -> dict[str, str]:
    """Return what becomes of each mutant, by its name."""
    result = folder / "fates.json"
    environment = os.environ | {
        "CARRYSAVE_CACHE": str(folder / "cache"),
        "OPENBLAS_NUM_THREADS": "1",
        "PYTHONPATH": f"{root}{os.pathsep}{ROOT}",
    }
    tests = dict.fromkeys(files.values())
    done = subprocess.run(
        [sys.executable, "-m", "verif.support.code_mutants", str(count), str(seed), result,
         *files, "--", *tests],
        cwd=root, env=environment, capture_output=True, text=True, timeout=deadline,
    )  # fmt: skip
    assert result.exists(), f"{done.stdout[-2000:]}{done.stderr[-2000:]}"
    fates: dict[str, str] = json.loads(result.read_text())["fates"]
    return fates


@pytest.mark.prove
def test_figures_that_are_wrong_are_seen(tmp_path: Path) -> None:
    fates = run(COUNT, SEED, MODULES, ROOT, tmp_path, 7200)
    assert len(fates) >= LEAST
    argued: dict[str, str] = json.loads(ARGUED.read_text())
    alive = {name for name, fate in fates.items() if fate != "killed"}
    assert not alive - set(argued), f"not killed, and not argued: {sorted(alive - set(argued))}"
    gone = set(argued) - alive
    assert not gone, f"argued, but killed or no mutants: {sorted(gone)}"
    assert Counter(fates.values())["killed"] > 9 * len(alive)


def test_every_argument_is_of_a_mutant() -> None:
    argued: dict[str, str] = json.loads(ARGUED.read_text())
    every = [one for path in MODULES for one in mutants(path, (ROOT / path).read_text())]
    assert len(every) >= LEAST
    assert set(argued) <= {one.name for one in sample(every, COUNT, SEED)}
    assert list(argued) == sorted(argued)
    for reason in argued.values():
        assert len(reason.split()) > 5
        assert reason.endswith(".")


TEXT = '''"""A module."""


def most(values: list[float], least: int = 2) -> float:
    """Return the larger one, if there are enough."""
    if len(values) <= 1:
        raise ValueError(f"{1 + 1}")
    assert least > 0
    return max(values) if not (len(values) > 9) else -1.5


class Case:
    @property
    def half(self) -> float:
        return self.value / 2

    value = 7.0


def never() -> bool:
    return True and False
'''
TESTS = """from made_up import Case, most


def test_most():
    assert most([1.0, 3.0]) == 3.0
    assert most([1.0] * 10) == -1.5


def test_half():
    assert Case().half == 3.5
"""
ALIVE = {
    "made_up.py: most: len(values) > 9 -> len(values) >= 9": "survived",
    "made_up.py: most: 9 -> 18": "killed",
    "made_up.py: most: len(values) <= 1 -> len(values) < 1": "survived",
    "made_up.py: most: 1 -> 2": "killed",
    "made_up.py: most: max(values) -> min(values)": "killed",
    "made_up.py: most: not len(values) > 9 -> not not len(values) > 9": "killed",
    "made_up.py: most: -1.5 -> +1.5": "killed",
    "made_up.py: most: 1.5 -> 2.5": "killed",
    "made_up.py: Case.half: self.value / 2 -> self.value * 2": "killed",
    "made_up.py: Case.half: 2 -> 3": "killed",
    "made_up.py: never: True and False -> True or False": "unreached",
    "made_up.py: never: True -> False": "unreached",
    "made_up.py: never: False -> True": "unreached",
}


def test_mutants_are_of_what_is_computed(tmp_path: Path) -> None:
    """And it is known of each whether a test reaches it, and fails."""
    (tmp_path / "made_up.py").write_text(TEXT)
    (tmp_path / "test_made_up.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --import-mode=importlib\n")
    names = {one.name for one in mutants("made_up.py", TEXT)}
    assert names == set(ALIVE)
    assert run(100, 1, {"made_up.py": "test_made_up.py"}, tmp_path, tmp_path, 300) == ALIVE


def test_a_sample_is_of_names_alone() -> None:
    every = list(mutants("made_up.py", TEXT))
    more = list(mutants("made_up.py", f"\n\n{TEXT}"))
    drawn = [one.name for one in sample(every, 5, 3)]
    assert len(drawn) == 5
    assert drawn == [one.name for one in sample(more, 5, 3)]
    assert drawn != [one.name for one in sample(every, 5, 4)]
