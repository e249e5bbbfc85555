"""``carrysave doctor`` says what is there, and what commands lack, as commands themselves do."""

import json
import re
import sys
from importlib import metadata
from pathlib import Path

import pytest

import carrysave
from carrysave.asic import sta
from carrysave.cli import _COMMANDS
from carrysave.errors import EXTRAS
from carrysave.installation import parts
from carrysave.installation.ways import WAYS
from carrysave.sim import verilator_build, verilator_install
from verif.support.command import Run
from verif.support.schemas import check

PLACES = sys.version_info < (3, 13)
"""Whether Coloquinte has wheels for this Python."""
SMALL = ("mac", "-p", "a_width=2", "-p", "b_width=2", "-p", "accumulator_width=6")


def states(outcome: str) -> dict[str, str]:
    return {row["command"]: row["state"] for row in check("doctor", outcome)["commands"]}


def test_ways_are_of_commands_and_parts() -> None:
    assert list(WAYS) == [name for name, _, _ in _COMMANDS]
    root = Path(carrysave.__file__).parents[1]
    sources = "".join(
        path.read_text()
        for room in ("carrysave", "hw")
        for path in (root / room).rglob("*.py")
        if path.name not in {"errors.py", "ways.py"}
    )
    every = {module for own in EXTRAS.values() for module in own}
    modules = {module for module in every if re.search(rf"\b{module}\b", sources)}
    used = {need for ways in WAYS.values() for way in ways for need in way.needs}
    # FuseSoC has PyYAML, and calls us by itself; pandas is Python callers'; whether the cache can
    # be written is no command's.
    assert used == modules - {"yaml", "pandas"} | set(parts.SYSTEM) - {"cache"}


def test_doctor_finds_what_this_machine_has(run: Run) -> None:
    found = check("doctor", run("doctor", "--json").out)
    there = {part["name"]: part for part in (*found["core"], *found["programs"])}
    for name in ("amaranth", "numpy", "pyosys"):
        assert there[name]["version"] == metadata.version(name)
    assert found["python"]["ok"]
    assert there["c++"]["version"] == verilator_install.compiler()
    assert Path(there["c++"]["where"]).is_file()
    assert there["sta"]["version"] == sta.version()
    # Torch is too large to be with all that tests need.
    extras = [own for extra, own in found["extras"].items() if extra != "torch"]
    lacks = [part["name"] for own in extras for part in own if not part["ok"]]
    assert lacks == ["coloquinte"] * (not PLACES)
    commands = ("generate", "verify", "synth" if PLACES else "compare")
    outcome = run("doctor", *commands)
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.splitlines()[-3:] == [f"carrysave {name}: ready" for name in commands]


def test_doctor_misses_programs(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    for remembered in (sta.version, verilator_install.compiler, verilator_build.versions):
        remembered.cache_clear()
    outcome = run("doctor", "--json")
    found = states(outcome.out)
    assert outcome.code == 1
    assert found | {"generate": "ready", "verify": "no", "synth": "no", "build": "partly"} == found
    assert (
        found | {"list": "ready", "run": "no", "precision": "ready", "estimate": "ready"} == found
    )
    text = run("doctor")
    assert "carrysave synth: needs sta, c++, make, ar; --target ecp5, --target ice40," in text.out
    for package in ("g++", "make", "binutils", "opensta", "iverilog", "openfpgaloader"):
        assert f"  run `sudo apt-get install {package}`\n" in text.out
    assert run("doctor", "generate", "list").code == 0
    # Commands find the same.
    assert run("generate", *SMALL).code == 0
    assert run("synth", *SMALL, "--target", "xilinx7").code == 0
    for line, lacks in (("verify", "make"), ("synth", "opensta")):
        outcome = run(line, *SMALL)
        assert (outcome.code, outcome.out) == (1, "")
        assert f"sudo apt-get install {lacks}`" in outcome.err
    for remembered in (sta.version, verilator_install.compiler, verilator_build.versions):
        remembered.cache_clear()


def test_doctor_misses_programs_that_do_not_run(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    broken = tmp_path / "make"
    broken.write_text("#!/bin/sh\nexit 3\n")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    found = check("doctor", run("doctor", "list", "--json").out)
    made = next(part for part in found["programs"] if part["name"] == "make")
    assert (made["ok"], made["problem"]) == (False, f"{broken} --version ends with 3")
    assert made["remedy"] == "install it again"


def test_doctor_misses_modules(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("onnxruntime", "coloquinte", "vl_convert"):
        monkeypatch.setitem(sys.modules, module, None)
    outcome = run("doctor", "list", "precision", "synth", "run")
    assert outcome.code == 1
    assert "extra networks: lacks onnxruntime\n" in outcome.out
    assert "carrysave precision: needs onnxruntime\n" in outcome.out
    assert (
        "carrysave synth: ready; --place needs coloquinte; --html needs vl_convert" in outcome.out
    )
    assert "comparison with onnxruntime needs onnxruntime" in outcome.out
    for extra in ("networks", "report"):
        assert f"  pip install 'carrysave[{extra}]'\n" in outcome.out
    placer = "pip install 'carrysave[asic]'" if PLACES else "take a Python < 3.13, for coloquinte"
    assert f"  {placer}\n" in outcome.out


def test_packages_for_other_pythons(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pip would install nothing."""
    monkeypatch.setitem(sys.modules, "coloquinte", None)
    line = "coloquinte==0.4.1; python_version < '3.9' and extra == "
    monkeypatch.setattr(metadata, "requires", lambda name: [f"{line}'asic'", f"{line}'dev'"])
    outcome = run("doctor", "synth")
    assert "  take a Python < 3.9, for coloquinte\n" in outcome.out
    assert "carrysave[asic]" not in outcome.out
    outcome = run("synth", *SMALL, "--place")
    assert outcome.err.endswith("coloquinte; take a Python < 3.9\n"), outcome.err


@pytest.mark.parametrize(("package", "version"), [("amaranth", "0.4.5"), ("numpy", "1.26.4")])
def test_doctor_refuses_other_versions(
    run: Run, monkeypatch: pytest.MonkeyPatch, package: str, version: str
) -> None:
    real = metadata.version
    monkeypatch.setattr(
        metadata, "version", lambda name: version if name == package else real(name)
    )
    outcome = run("doctor", "--json")
    found = check("doctor", outcome.out)
    assert outcome.code == 1
    (wrong,) = (part for part in found["core"] if not part["ok"])
    assert wrong["name"] == package
    assert wrong["problem"].endswith(f", not {version}")
    assert wrong["remedy"].startswith(f"pip install '{package}")
    assert {row["state"] for row in found["commands"]} == {"no"}


def test_doctor_refuses_a_cache_that_cannot_be_written(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("CARRYSAVE_CACHE", str(tmp_path / "file" / "cache"))
    found = json.loads(run("doctor", "list", "--json").out)
    (wrong,) = (part for part in found["programs"] if part["name"] == "cache")
    assert "cannot be written" in wrong["problem"]
    assert wrong["remedy"] == "name another in CARRYSAVE_CACHE"


def test_doctor_refuses_what_is_no_command(run: Run) -> None:
    outcome = run("doctor", "verfy")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("carrysave: command must be one of list, show, generate,")
    assert outcome.err.endswith(", not 'verfy'\n")
