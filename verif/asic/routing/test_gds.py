"""GDS and LEF of routed dies: what is written is what was routed, by readers of another code."""

import json
import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from carrysave.asic import synthesis
from carrysave.asic.liberty import cells
from carrysave.asic.routing.abstract import write_abstract
from carrysave.asic.routing.flow import Routed
from carrysave.asic.routing.gds_check import check_gds
from carrysave.asic.routing.gds_layers import gds_files
from carrysave.asic.routing.lef import read_routing_lef
from carrysave.asic.routing.stream import stream
from carrysave.errors import ArgumentError
from carrysave.report import routed_layout
from hw.catalog import Design
from hw.emit.user_files import FileError
from verif.support.command import Run
from verif.support.made_lef import made_lef

LIBRARY = cells.osu018()
SMALL = {"a_width": 2, "b_width": 2, "accumulator_width": 5}
LAYERS = "".join(
    f"{name} drawing {number} 0\n{name} label {number} 5\n"
    for number, name in enumerate(("m1", "m2", "m3", "m4", "m5"), 10)
) + "".join(f"cm{n}m{n + 1} drawing {20 + n} 0\n" for n in range(1, 5))


@pytest.fixture
def lef(tmp_path: Path) -> Path:
    path = tmp_path / "made.lef"
    path.write_text(made_lef(LIBRARY))
    return path


@pytest.fixture
def gds(tmp_path: Path, lef: Path) -> list[Path]:
    """Write a cell of GDS for each MACRO, with the metal of its pins, and numbers of layers."""
    gdstk = pytest.importorskip("gdstk")
    library = gdstk.Library("cells")
    for name, macro in read_routing_lef([lef]).macros.items():
        cell = library.new_cell(name)
        for shapes in macro.pins.values():
            for _, (left, low, right, up) in shapes:
                cell.add(gdstk.rectangle((left, low), (right, up), layer=10))
    library.write_gds(tmp_path / "cells.gds")
    (tmp_path / "layers.txt").write_text(f"# numbers\n{LAYERS}die boundary 99 0\n")
    return [tmp_path / "cells.gds", tmp_path / "layers.txt"]


@cache
def small(lef: str) -> dict[str, Any]:
    pytest.importorskip("coloquinte")
    return synthesis.synthesise_design(
        Design("mac", SMALL), LIBRARY, route=True, lef=[lef], activity="none", utilisation=0.5
    )


@pytest.fixture
def result(lef: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    shared = tmp_path_factory.getbasetemp() / "gds.lef"
    if not shared.exists():
        shared.write_text(lef.read_text())
    return small(str(shared))


def routed_of(result: dict[str, Any]) -> Routed:
    return Routed(Path(result["routed"]["files"]["def"]).parent, result["routed"])


def written(result: dict[str, Any], lef: Path, gds: list[Path]) -> Path:
    return stream(routed_of(result), [lef], gds, lambda text: None)


def test_gds_is_what_was_routed(result: dict[str, Any], lef: Path, gds: list[Path]) -> None:
    """As gdstk reads it: each via and cell once, names of ports, and metal within the die."""
    gdstk = pytest.importorskip("gdstk")
    path = written(result, lef, gds)
    library = gdstk.read_gds(path)
    top = next(cell for cell in library.cells if cell.name == result["module"])
    assert [cell.name for cell in library.top_level()] == [result["module"]]
    kinds = Counter(one.cell.name for one in top.references)
    text = Path(result["routed"]["files"]["def"]).read_text()
    components = Counter(re.findall(r"^- \S+ (\S+) \+ PLACED", text, re.M))
    assert {kind: kinds[kind] for kind in components} == components
    assert kinds.total() - components.total() == result["routed"]["vias"]
    ports = set(re.findall(r"^- (\S+) \+ NET", text, re.M))
    assert {label.text for label in top.labels} == ports
    assert {one.layer for one in top.polygons} <= {*range(10, 15), *range(21, 25), 99}
    (outline,) = [one for one in top.polygons if one.layer == 99]
    assert outline.bounding_box()[1] == pytest.approx(result["placed"]["die_um"])
    low, high = top.bounding_box()
    assert min(low) >= -0.31
    assert all(high[at] <= result["placed"]["die_um"][at] + 0.31 for at in (0, 1))
    again = path.read_bytes()
    path.unlink()
    assert written(result, lef, gds).read_bytes() == again


def test_check_sees_what_differs(result: dict[str, Any], lef: Path, gds: list[Path]) -> None:
    data = written(result, lef, gds).read_bytes()
    known, drawing = read_routing_lef([lef]), gds_files(gds).drawing
    text = Path(result["routed"]["files"]["def"]).read_text()
    assert not check_gds(data, text, known, drawing)

    def wrong(old: str, new: str) -> str:
        changed = re.sub(old, new, text, count=1, flags=re.M)
        assert changed != text
        return " | ".join(check_gds(data, changed, known, drawing))

    assert "metal of m2" in wrong(r"^NEW m2 \( \d+ \d+ \) \( \d+ \d+ \)\n", "")
    assert "in DEF only" in wrong(r"^(NEW m2 \( \d+)( \d+ \) \( \d+ \d+ \)\n)", r"\g<1>7\2")
    patch = r"\1NEW m2 ( \2 ) RECT ( -200 -900 200 900 )\n"
    assert "in DEF only" in wrong(r"^(NEW m2 \( (\d+ \d+) \) \( \d+ \d+ \)\n)", patch)
    assert "cuts, and DEF" in wrong(r"^NEW m2 \( \d+ \d+ \) vm2m3\n", "")
    assert "cell ('" in wrong(r"(PLACED \( )\d+( \d+ \) FS)", r"\g<1>8\2")
    assert "cell ('" in wrong(r"\) FS ;", ") N ;")
    assert "name ('" in wrong(r"^- (\S+)( \+ NET)", r"- other\2")
    assert "has no OTHER" in wrong(r"^DESIGN \S+", "DESIGN OTHER")
    swapped = {**drawing, "cm2m3": drawing["cm3m4"], "cm3m4": drawing["cm2m3"]}
    assert any("cut of" in one for one in check_gds(data, text, known, swapped))
    known.macros["DFFPOSX1"].pins["D"] = [("m1", (4.0, 9.0, 4.1, 9.1))]
    assert "DFFPOSX1 has no metal of m1 in GDS at pin D" in check_gds(data, text, known, drawing)[0]
    assert check_gds(data[: len(data) // 2], text, known, drawing)


def test_abstract_has_each_port(result: dict[str, Any]) -> None:
    routed = result["routed"]
    path = Path(routed["files"]["lef"])
    (macro,) = read_routing_lef([path]).macros.values()
    assert macro.size == pytest.approx(result["placed"]["die_um"], abs=1e-4)
    text = Path(routed["files"]["def"]).read_text()
    pins = re.findall(
        r"^- (\S+) \+ NET .*?LAYER (\S+) \( (\S+) (\S+) \) \( \S+ \S+ \)"
        r" \+ PLACED \( (\S+) (\S+) \)",
        text,
        re.M,
    )
    assert {name for name, *_ in pins} == macro.pins.keys()
    for name, layer, left, low, x, y in pins:
        ((on, box),) = macro.pins[name]
        assert on == layer
        corner = (int(left) + int(x)) / 1000, (int(low) + int(y)) / 1000
        assert box[:2] == pytest.approx(corner, abs=2e-3)
    whole = (0.0, 0.0, *macro.size)
    assert dict(macro.blocks) == dict.fromkeys(("m1", *routed["layers"]), whole)


def test_abstract_has_straps(result: dict[str, Any], tmp_path: Path) -> None:
    shapes = json.loads(Path(result["routed"]["shapes"]).read_text())
    straps = (("vdd", "POWER", 8.0), ("gnd", "GROUND", 4.0), ("vdd", "POWER", 12.0))
    for name, use, x in straps:
        shapes["ports"].append([name, "INOUT", use, "m5", [x, 0.0, x + 1.6, 40.0]])
    (tmp_path / "block.lef").write_text(write_abstract(shapes))
    (macro,) = read_routing_lef([tmp_path / "block.lef"]).macros.values()
    assert macro.supplies == {
        "vdd": [("m5", (8.0, 0.0, 9.6, 40.0)), ("m5", (12.0, 0.0, 13.6, 40.0))],
        "gnd": [("m5", (4.0, 0.0, 5.6, 40.0))],
    }


def test_files_that_lack_something_are_refused(
    result: dict[str, Any], lef: Path, gds: list[Path], tmp_path: Path
) -> None:
    gdstk = pytest.importorskip("gdstk")
    library = gdstk.read_gds(gds[0])
    library.remove(*[cell for cell in library.cells if cell.name == "DFFPOSX1"])
    library.write_gds(tmp_path / "few.gds")
    with pytest.raises(ArgumentError, match="gds must have each cell, and has not DFFPOSX1"):
        written(result, lef, [tmp_path / "few.gds", gds[1]])
    library.new_cell(result["module"])
    library = gdstk.read_gds(gds[0])
    inner = library.new_cell(result["module"])
    next(cell for cell in library.cells if cell.name == "DFFPOSX1").add(gdstk.Reference(inner))
    library.write_gds(tmp_path / "named.gds")
    with pytest.raises(ArgumentError, match="must have no cell mac"):
        written(result, lef, [tmp_path / "named.gds", gds[1]])
    with pytest.raises(ArgumentError, match=r"a line `m. drawing LAYER TYPE`"):
        written(result, lef, gds[:1])
    shifted = gdstk.read_gds(gds[0])
    for cell in shifted.cells:
        for polygon in cell.polygons:
            polygon.translate(3.0, 0.0)
    shifted.write_gds(tmp_path / "shifted.gds")
    with pytest.raises(ArgumentError, match=r"must agree, but cell .* has no metal of m1"):
        written(result, lef, [tmp_path / "shifted.gds", gds[1]])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b"m1 drawing 10\n", "line 1: must be GDS, or lines of"),
        (b"\nm1 drawing 10 x\n", "line 2: must be GDS, or lines of"),
        (b"m1 drawing 10 65536\n", "must be GDS, or lines of"),
        (b"m1 metal 10 0\n", "must have drawing, label or boundary, not 'metal'"),
        (b"\x00\x06\x00\x02\x02\x58" + bytes(40), "must be GDS with an end, and is cut off"),
    ],
)
def test_files_of_other_kinds_are_refused(tmp_path: Path, text: bytes, says: str) -> None:
    path = tmp_path / "bad"
    path.write_bytes(text)
    with pytest.raises(FileError, match=says):
        gds_files([path])


def test_sky130_is_known() -> None:
    files = gds_files([])
    assert files.number("met1") == (68, 20)
    assert files.number("via4") == (71, 44)
    assert files.label["met5"] == (72, 5)
    with pytest.raises(ArgumentError, match="gds must have a file of layers with a line `Metal1"):
        files.number("Metal1")


def test_picture_has_the_wires(result: dict[str, Any]) -> None:
    """Each layer's colour is where it has metal alone; cells that lack wires are grey."""
    pytest.importorskip("matplotlib")
    picture = routed_layout.draw(result).decode()
    assert "um of wire" in picture
    for name in ("m2", "m3", "m4", "m5"):
        assert f">{name}<" in picture
    image = np.ones((8, 10, 3))
    routed_layout._paint(image, np.array([[2.0, 1.0, 5.0, 1.2]]), (1.0, 0.0, 0.0), 0.5)
    red = np.argwhere((image == [1.0, 0.5, 0.5]).all(axis=2))
    assert red.tolist() == [[1, 2], [1, 3], [1, 4]]
    assert (image == 1).all(axis=2).sum() == 77


def test_command(run: Run, result: dict[str, Any], lef: Path, gds: list[Path]) -> None:
    words = [word for name, value in SMALL.items() for word in ("-p", f"{name}={value}")]
    line = ("synth", "mac", *words, "--target", "osu018", "--activity", "none")
    line = (*line, "--utilisation", "0.5", "--lef", str(lef), "--gds", str(gds[0]))
    refused = run(*line, "--place")
    assert (refused.code, "--gds needs --route" in refused.err) == (2, True)
    out = str(lef.parent / "out")
    done = run(*line, "--route", "--gds", str(gds[1]), "-o", out, "--json")
    assert done.code == 0, done.err
    every = [Path(file) for file in json.loads(done.out)["files"]]
    assert any(file.name.endswith(".layout.svg") for file in every)
    files = [file for file in every if ".routed." in file.name]
    assert {file.suffix for file in files} == {".v", ".def", ".spef", ".sdc", ".lef", ".gds"}
