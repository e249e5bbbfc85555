"""Tables of ports in docstrings say what signatures have: names, directions, shapes."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

import hw

ROOT = Path(hw.__file__).parents[1]
WAY = re.compile(r"(In|Out)(?:\((.*?)\)(?=,|$|\.| ))?")


AXI = "hw/soc/bus/axi.py"
"""Its members are the standard's, by name, direction and width."""


class Port(NamedTuple):
    """Direction, and shape as text; empty where a docstring leaves it to its words."""

    way: str
    shape: str


def documented(text: str) -> dict[str, Port]:
    """Return the rows of the table `Members`; the last direction of a row stands for the rest."""
    _, _, table = text.partition("Members\n-------\n")
    rows: dict[str, Port] = {}
    for line in re.split(r"\n\n\w+\n-+\n", table)[0].splitlines():
        if line and not line.startswith(" "):
            left, _, kind = line.partition(" : ")
            names = left.split(", ")
            ports = [Port(way, shape) for way, shape in WAY.findall(kind)] or [Port("", "")]
            rows |= dict(zip(names, ports + ports[-1:] * (len(names) - len(ports)), strict=True))
    return rows


def built(cls: ast.ClassDef) -> dict[str, Port]:
    """Return the members that a class writes down: ``"name": In(shape)``, or one by one."""
    ports = {}
    for node in ast.walk(cls):
        pairs: list[tuple[ast.expr | None, ast.expr]] = []
        if isinstance(node, ast.Dict):
            pairs = list(zip(node.keys, node.values, strict=True))
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
            pairs = [(node.targets[0].slice, node.value)]
        for name, value in pairs:
            match name, value:
                case ast.Constant(value=str(text)), ast.Call(ast.Name("In" | "Out" as way), [arg]):
                    ports[text] = Port(way, ast.unparse(arg))
    return ports


def agree(said: Port, port: Port) -> bool:
    """Return whether a documented port is the one that is built.

    Of shapes, numbers of bits and names of classes are compared, where both have one.
    """
    numbers = said.shape.isdigit() and port.shape.isdigit()
    kinds = said.shape[:1].isupper() and re.match(r"[A-Z]\w*\(", port.shape) is not None
    same = port.shape.partition("(")[0] in said.shape.split(" or ")
    single = said.shape == "stream" and port.shape.isdigit()
    return said.way in ("", port.way) and (same or not (numbers or kinds)) and not single


def classes() -> Iterator[tuple[str, ast.ClassDef]]:
    """Yield the classes of hardware that have ports, each with its file."""
    for path in sorted((ROOT / "hw").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            name = path.relative_to(ROOT).as_posix()
            if isinstance(node, ast.ClassDef) and built(node) and name != AXI:
                yield f"{name}:{node.name}", node


CLASSES = dict(classes())


@pytest.mark.parametrize("name", CLASSES)
def test_tables_of_ports_are_those_of_signatures(name: str) -> None:
    cls = CLASSES[name]
    ports, said = built(cls), documented(ast.get_docstring(cls) or "")
    assert set(ports) <= set(said), "a port has no row"
    # Ports that a loop makes have their names in annotations or texts alone.
    declared: set[object] = {
        ast.unparse(one.target) for one in cls.body if isinstance(one, ast.AnnAssign)
    }
    declared |= {one.value for one in ast.walk(cls) if isinstance(one, ast.Constant)}
    gone = {one for one in said if one.isidentifier()} - set(ports) - declared
    assert not gone, "a row has no port"
    assert {one: said[one] for one in ports if not agree(said[one], ports[one])} == {}
