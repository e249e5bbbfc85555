"""Rules of the tree: who may import what, and that golden mirrors hw."""

import ast
import importlib
import inspect
from collections.abc import Iterator
from pathlib import Path

import pytest
from amaranth.lib import wiring

import hw
from hw.catalog import CATALOG

ROOT = Path(hw.__file__).parents[1]
STAGES = ["arith", "pe", "tpe", "npe", "soc"]
# Checks of parameters compute no result, and one wording serves both sides.
NEUTRAL = {"golden.check"}


def modules(folder: str) -> list[Path]:
    """Files of a package, as paths from the root."""
    found = sorted((ROOT / folder).rglob("*.py"))
    assert found, folder
    return [path.relative_to(ROOT) for path in found]


def imports(path: Path) -> Iterator[tuple[str, str | None]]:
    """Modules that a file imports, each with the name taken from it."""
    for node in ast.walk(ast.parse((ROOT / path).read_text())):
        if isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield from ((node.module or "", alias.name) for alias in node.names)


def rank(module: str) -> int:
    """Place of a module in the order in which imports look back."""
    parts = module.split(".")
    if parts[0] == "golden":
        return 0
    if parts[0] != "hw":
        return 100
    if len(parts) > 1 and parts[1] in STAGES:
        return 2 + STAGES.index(parts[1])
    return {"hw.catalog": 50, "hw.emit.verilog": 51, "hw.emit.instance": 52}.get(module, 1)


@pytest.mark.parametrize("path", modules("hw"), ids=str)
def test_hw_imports_look_back(path: Path) -> None:
    own = rank(".".join(path.with_suffix("").parts))
    for module, _ in imports(path):
        if module.split(".")[0] in {"hw", "golden", "verif", "carrysave", "scripts"}:
            assert rank(module) <= own, f"{path} must not import {module}"


@pytest.mark.parametrize("path", modules("hw"), ids=str)
def test_hw_takes_only_specs_and_formats_from_golden(path: Path) -> None:
    for module, name in imports(path):
        if module.split(".")[0] != "golden" or module in NEUTRAL:
            continue
        if path == Path("hw/catalog.py"):
            assert name is None or name[0].isupper(), f"{path} takes {name} from {module}"
        else:
            assert name is not None, f"{path} imports {module} whole"
            assert name.endswith(("Spec", "Format")), f"{path} takes {name} from {module}"


@pytest.mark.parametrize("path", modules("golden"), ids=str)
def test_golden_imports_no_hardware(path: Path) -> None:
    for module, _ in imports(path):
        top = module.split(".")[0]
        assert top not in {"hw", "verif", "carrysave", "scripts", "amaranth"}, f"{path}: {module}"


@pytest.mark.parametrize("name", CATALOG)
def test_golden_mirrors_hardware(name: str) -> None:
    """Same path, and a function of the design's name; the component is the name in camel case."""
    entry = CATALOG[name]
    path = inspect.getmodule(entry.component).__name__  # type: ignore[union-attr]
    assert entry.golden.__name__ == path.replace("hw.", "golden.", 1)
    assert path.endswith(f".{name}")
    assert callable(getattr(entry.golden, name))
    assert entry.component.__name__ == "".join(word.capitalize() for word in name.split("_"))
    assert issubclass(entry.component, wiring.Component)
    assert entry.spec.__name__.endswith("Spec")


@pytest.mark.parametrize("name", CATALOG)
def test_every_design_has_a_bench_and_a_test(name: str) -> None:
    entry = CATALOG[name]
    bench = ROOT.joinpath(*entry.bench.split(".")).with_suffix(".py")
    assert "@cocotb.test" in bench.read_text()
    stage = entry.golden.__name__.split(".")[1]
    assert any(name in path.read_text() for path in (ROOT / "verif" / stage).glob("test_*.py"))


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
