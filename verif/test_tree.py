"""Rules of the tree: who may import what, and that golden mirrors hw."""

import ast
import importlib
import re
from graphlib import TopologicalSorter
from pathlib import Path

import pytest
from amaranth.lib import wiring

from carrysave.sim.runner import verify
from hw.catalog import CATALOG, Design
from verif.support import sizes
from verif.support.modules import ROOT, imports, modules

FLOORS = (
    ("carrysave.deprecation",),
    ("golden",),
    ("hw.lib", "hw.unknown"),
    ("hw.device",),
    ("hw.arith",),
    ("hw.pe",),
    ("hw.tpe",),
    ("hw.npe",),
    ("hw.soc",),
    ("hw.catalog",),
    ("hw.emit",),
    ("carrysave.errors", "carrysave.cache", "carrysave.keywords", "carrysave.progress_bar"),
    ("carrysave.driver", "carrysave.progress"),
    ("carrysave.jobs",),
    (
        "carrysave.driver_modes",
        "carrysave.driver_package",
        "carrysave.data",
        "carrysave.weights",
        "carrysave.vectors",
    ),
    ("carrysave.sim", "carrysave.fpga"),
    ("carrysave.prove",),
    ("carrysave.asic", "carrysave.contract", "carrysave.ip", "carrysave.report"),
    ("carrysave.boards", "carrysave.drawings"),
    ("carrysave.compiler.graph",),
    ("carrysave.compiler.front",),
    ("carrysave.compiler.target",),
    ("carrysave.compiler.timing",),
    ("carrysave.compiler.lowered",),
    ("carrysave.compiler.passes",),
    ("carrysave.compiler.program",),
    ("carrysave.compiler.run",),
    ("carrysave.compiler.encoder",),
    ("carrysave.precision", "carrysave.training"),
    ("carrysave.compiler.decoder",),
    ("carrysave.papers", "carrysave.exploration", "carrysave.regress"),
    ("carrysave.system", "carrysave.installation", "carrysave.signoff"),
    ("carrysave.api",),
    ("carrysave.studio",),
    ("carrysave.cli", "carrysave.testing"),
    ("carrysave.docs", "carrysave.__main__"),
    ("scripts.language",),
    ("verif",),
    ("scripts",),
)
"""Rooms from the ground up. An import goes down, or stays in its room: not even to a neighbour."""
# Checks of parameters compute no result, and one wording serves both sides.
NEUTRAL = {"golden.check"}


def floor(module: str) -> tuple[int, str] | None:
    """Floor and room of a module; None of others' packages, and of those that only name rooms."""
    for number, rooms in enumerate(FLOORS):
        for room in rooms:
            if f"{module}.".startswith(f"{room}."):
                return number, room
    return None


def _may(here: tuple[int, str], there: tuple[int, str]) -> bool:
    """Return whether a room may import from another: from below, or from itself."""
    return there[0] < here[0] or there == here


@pytest.mark.parametrize("folder", ["golden", "hw", "carrysave", "verif", "scripts"])
def test_no_import_points_up(folder: str) -> None:
    wrong = []
    for path in modules(folder):
        if path == Path("carrysave/__init__.py"):
            continue  # it names what is public, and loads it when it is asked for
        here = floor(".".join(path.with_suffix("").parts).removesuffix(".__init__"))
        for module, name in imports(path):
            there = floor(f"{module}.{name}") or floor(module)
            if there is not None and (here is None or not _may(here, there)):
                wrong.append(f"{path} imports {module}.{name}")
    assert not wrong


@pytest.mark.parametrize("house", ["hw/npe", "hw/soc"])
def test_rooms_of_a_house_have_an_order(house: str) -> None:
    """No two folders import each other, at whatever distance; the files beside them are above."""
    prefix = house.replace("/", ".")

    def room(module: str) -> str:
        inside = module.removeprefix(f"{prefix}.").split(".")
        return inside[0] if (ROOT / house / inside[0]).is_dir() else ""

    needs: dict[str, set[str]] = {}
    for path in modules(house):
        own = room(".".join(path.with_suffix("").parts))
        for module, name in imports(path):
            if f"{module}.".startswith(f"{prefix}."):
                needs.setdefault(own, set()).add(room(f"{module}.{name}"))
    order = TopologicalSorter({own: used - {own} for own, used in needs.items()})
    assert list(order.static_order())


@pytest.mark.parametrize("folder", ["carrysave", "golden", "hw", "scripts", "verif"])
def test_no_circle_of_files(folder: str) -> None:
    """No file needs another that needs it, at whatever distance: not even for types."""
    names = {
        ".".join(path.with_suffix("").parts).removesuffix(".__init__"): path
        for path in modules(folder)
        if path != Path("carrysave/__init__.py")  # it loads what it names when that is asked for
    }
    needs: dict[str, set[str]] = {}
    for own, path in names.items():
        for module, name in imports(path):
            used = f"{module}.{name}" if f"{module}.{name}" in names else module
            if used in names and used != own:
                needs.setdefault(own, set()).add(used)
    assert list(TopologicalSorter(needs).static_order())


def test_no_circle_of_files_in_the_c_driver() -> None:
    """No source calls another that calls it, at whatever distance."""
    comment, function = re.compile(r"/\*.*?\*/", re.S), re.compile(r"^(?!static)\w.*?(\w+)\(", re.M)
    texts = {
        path.name: comment.sub("", path.read_text())
        for path in sorted((ROOT / "carrysave/driver/c").glob("*.c"))
    }
    defined = {
        name: file
        for file, text in texts.items()
        for name in function.findall(text)
        if re.search(rf"^\w[^;{{}}=]*\b{name}\([^;{{}}]*\)\n{{", text, re.M)
    }
    assert defined["carrysave_matrix"] == "carrysave_matrix.c"
    needs: dict[str, set[str]] = {}
    for file, text in texts.items():
        called = {defined[name] for name in re.findall(r"\b\w+(?=\()", text) if name in defined}
        needs[file] = called - {file}
    assert list(TopologicalSorter(needs).static_order())


def test_hw_takes_only_specs_and_formats_from_golden() -> None:
    for path in modules("hw"):
        for module, name in imports(path):
            if module.split(".")[0] == "golden" and module not in NEUTRAL:
                assert name is not None, f"{path} imports {module} whole"
                assert name.endswith(("Spec", "Format")), f"{path} takes {name} from {module}"


def test_golden_imports_no_hardware() -> None:
    for path in modules("golden"):
        for module, _ in imports(path):
            assert module.split(".")[0] != "amaranth", f"{path}: {module}"


@pytest.mark.parametrize("name", CATALOG)
def test_golden_mirrors_hardware(name: str) -> None:
    """Same path, and a function of the design's name; the component is the name in camel case."""
    entry = CATALOG[name]
    assert entry.component.__module__ == f"hw.{entry.stage}.{name}"
    assert entry.golden.__name__ == f"golden.{entry.stage}.{name}"
    assert callable(getattr(entry.golden, name))
    assert entry.component.__name__ == "".join(word.capitalize() for word in name.split("_"))
    assert issubclass(entry.component, wiring.Component)
    assert entry.spec.__name__.endswith("Spec")


@pytest.mark.parametrize("name", CATALOG)
def test_every_design_has_a_bench_that_runs(name: str, tmp_path: Path) -> None:
    entry = CATALOG[name]
    bench = ROOT.joinpath(*entry.bench.split(".")).with_suffix(".py")
    assert "@cocotb.test" in bench.read_text()
    tests = (ROOT / "verif" / entry.stage).glob("test_*.py")
    # A design that no test names yet runs as it is by default.
    if not any(name in path.read_text() for path in tests):
        result = verify(Design(name), seed=1, directory=tmp_path)
        assert result.ok, result


@pytest.mark.parametrize("folder", ["hw", "golden", "verif", "carrysave"])
def test_every_module_says_what_it_is(folder: str) -> None:
    for path in modules(folder):
        if path.name != "__init__.py" or (ROOT / path).stat().st_size:
            assert ast.get_docstring(ast.parse((ROOT / path).read_text())), path


def test_all_names_exist() -> None:
    for folder in ("hw", "golden"):
        for path in modules(folder):
            name = ".".join(path.with_suffix("").parts).removesuffix(".__init__")
            module = importlib.import_module(name)
            for public in getattr(module, "__all__", ()):
                assert hasattr(module, public), f"{name}.{public}"


def test_files_and_functions_are_small() -> None:
    """What is larger is listed, and may only fall: cut it by step; a list of options is a class."""
    listed, larger = sizes.listed(), sizes.larger(ROOT)
    grown = {
        (kind, name): size
        for kind in sizes.LIMITS
        for name, size in larger[kind].items()
        if size > listed[kind].get(name, 0)
    }
    assert not grown, f"more than {sizes.LIMITS}, or more than in verif/support/sizes.json"


def test_few_lines_are_not_formatted() -> None:
    """What the formatter leaves as it is: tables above all."""
    files = [path for folder in sizes.ROOMS for path in (ROOT / folder).rglob("*.py")]
    assert sum(path.read_text().count("# fmt: " + "skip") for path in files) <= 300


@pytest.mark.parametrize("folder", ["golden", "hw", "carrysave", "scripts"])
def test_names_say_what_things_are(folder: str) -> None:
    """No variable, argument, member, port or function is called what could be anything."""
    words = {"come", "found", "hows", "kept", "own", "ripe", "told"}
    # A rule that is kept; former names, which warn.
    legal = {("rules", "kept"), ("explicit_design", "told"), ("catalog", "hows")}
    wrong = []
    for path in modules(folder):
        for node in ast.walk(ast.parse((ROOT / path).read_text())):
            match node:
                case (
                    ast.arg(arg=name)
                    | ast.Name(id=name, ctx=ast.Store())
                    | ast.Attribute(attr=name, ctx=ast.Store())
                    | ast.FunctionDef(name=name)
                ):
                    word = re.sub("^(_|i_|o_)", "", name).lower()
                    if word in words and (path.stem, word) not in legal:
                        wrong.append(f"{path}:{node.lineno}: {name}")
    assert not wrong
