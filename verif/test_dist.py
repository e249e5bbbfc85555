"""What `make dist` builds: the same bytes each time, and it works where no checkout is."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

import carrysave
from carrysave.cli import _COMMANDS

pytestmark = pytest.mark.prove

ROOT = Path(carrysave.__file__).parents[1]
SMALL = ("mac", "-p", "a_width=2", "-p", "b_width=2", "-p", "accumulator_width=6")
Command = Callable[..., str]


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build; the program itself builds twice, and fails if a byte differs."""
    folder = tmp_path_factory.mktemp("dist")
    program = [sys.executable, str(ROOT / "scripts" / "dist.py"), "--output", str(folder)]
    done = subprocess.run(program, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def program(dist: Path, tmp_path_factory: pytest.TempPathFactory) -> Command:
    """Install the wheel into an environment of its own, and return what runs its programs.

    Packages of others are those of this environment, without its .pth files, one of which names
    the checkout.
    """
    folder = tmp_path_factory.mktemp("clean")
    subprocess.run([sys.executable, "-m", "venv", folder / "env"], check=True)
    python = folder / "env" / "bin" / "python"
    (wheel,) = dist.glob("*.whl")
    pip = [str(python), "-m", "pip", "-q", "--disable-pip-version-check", "install"]
    subprocess.run([*pip, "--no-index", "--no-deps", str(wheel)], check=True)
    own = subprocess.check_output(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], text=True
    )
    (Path(own.strip()) / "others.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    hidden = {"PYTHONPATH", "VIRTUAL_ENV"}
    surroundings = {
        **{key: value for key, value in os.environ.items() if key not in hidden},
        "XDG_CACHE_HOME": str(folder / "cache"),
        "COLUMNS": "80",
    }
    found = subprocess.check_output(
        [python, "-c", "import carrysave; print(carrysave.__file__)"],
        cwd=folder, env=surroundings, text=True,
    )  # fmt: skip
    assert Path(found.strip()).is_relative_to(folder / "env")

    def call(name: str, *words: str) -> str:
        done = subprocess.run(
            [folder / "env" / "bin" / name, *words],
            cwd=folder, env=surroundings, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, (name, words, done.stdout, done.stderr)
        return done.stdout

    return call


@pytest.fixture(scope="module")
def command(program: Command) -> Command:
    """Return what runs the command of the wheel."""
    return partial(program, "carrysave")


def test_digests_are_those_of_the_files(dist: Path) -> None:
    lines = [line.split() for line in (dist / "SHA256SUMS").read_text().splitlines()]
    assert sorted(name for _, name in lines) == [
        f"carrysave-{carrysave.__version__}-py3-none-any.whl",
        f"carrysave-{carrysave.__version__}.tar.gz",
    ]
    for digest, name in lines:
        assert hashlib.sha256((dist / name).read_bytes()).hexdigest() == digest


@pytest.mark.parametrize("name", [name for name, _, _ in _COMMANDS])
def test_each_command_has_help(command: Command, name: str) -> None:
    assert f"Usage: carrysave {name}" in command(name, "--help")


def test_commands_work(command: Command) -> None:
    assert {"mac", "systolic_os"} <= {
        row["design"] for row in json.loads(command("list", "--json"))
    }
    assert "for" in command("show", "adder_tree", "-p", "pe=opt2")
    assert json.loads(command("generate", *SMALL, "--json"))["module"]
    assert json.loads(command("verify", *SMALL, "--json"))["ok"]
    mapped = ("synth", *SMALL, "--target", "generic", "--activity", "none", "--json")
    found = json.loads(command(*mapped))
    assert found["area_ge"] > 0
    (report,) = (file for file in found["files"] if file.endswith(".json"))
    assert "none is worse" in command("changes", report, report, "--threshold", "0")
    assert "ok: 1 formats" in command("vectors", "vectors", "--formats", "e2m1")
    assert json.loads(command("boards", "--json"))
    assert json.loads(command("doctor", "generate", "verify", "--json"))["ok"]
    assert "rows" in command("results")


def test_selftest_works(command: Command) -> None:
    assert json.loads(command("selftest", "--json"))["ok"]


def test_the_plugin_is_there(program: Command, tmp_path: Path) -> None:
    """An example of a user runs as it is: pytest finds the plugin by itself."""
    shutil.copytree(ROOT / "examples" / "classifier", tmp_path / "classifier")
    base = f"--basetemp={tmp_path / 'runs'}"
    said = program("python", "-m", "pytest", "-q", base, str(tmp_path / "classifier"))
    assert "1 passed" in said
    assert "warning" not in said
