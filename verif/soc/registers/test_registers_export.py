"""The register map as other tools see it: C, C++, IP-XACT, Python, pyuvm, HTML."""

import hashlib
import importlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from carrysave.ip import registers
from hw.soc.registers.rdl import MapField, fields_of, register_map
from verif.soc.registers.bench import BUILD

NAME = "map_under_test"
FIELDS = list(fields_of(register_map(BUILD)))
Places = dict[tuple[str, ...], tuple[int, int, int]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("export")
    paths = registers.export(folder, BUILD, name=NAME, docs=True)
    assert paths == sorted(folder.iterdir())
    names = {NAME, f"{NAME}.h", f"{NAME}.xml", f"{NAME}_html", f"{NAME}_pyuvm.py"}
    assert {path.name for path in paths} == names
    return folder


def path_of(field: MapField) -> tuple[str, ...]:
    return (*field.register.get_path_segments()[1:], field.node.inst_name)


def places() -> Places:
    """Address, lowest bit and width of every field, as the source has them."""
    return {
        path_of(field): (field.register.absolute_address, field.node.low, field.node.width)
        for field in FIELDS
    }


@pytest.mark.parametrize("language", ["c", "c++"])
def test_export_c_header_agrees(folder: Path, language: str, tmp_path: Path) -> None:
    compiler = shutil.which({"c": "cc", "c++": "c++"}[language])
    assert compiler, "no compiler"
    lines = [
        "#include <assert.h>",
        "#include <stddef.h>",
        f'#include "{NAME}.h"',
        f"typedef {NAME}_t map;",
        f"typedef {NAME}__JOB_t job;",
    ]

    def claim(condition: str) -> None:
        lines.append(f'static_assert({condition}, "{condition}");')

    for field in FIELDS:
        *path, own = path_of(field)
        claim(f"offsetof(map, {'.'.join(path)}) == {field.register.absolute_address:#x}")
        macro = "__".join([NAME, *path, own]).upper()
        claim(f"{macro}_bp == {field.node.low}")
        claim(f"{macro}_bm == {((1 << field.node.width) - 1) << field.node.low:#x}u")
        for code in field.codes:
            claim(f"{macro}__{code.identifier.upper()}_code == {code.value}")
    claim("sizeof(map) == 0x16c")
    claim("sizeof(job) == 128")
    claim(f"{NAME.upper()}__TILE_M__VALUE_reset == {BUILD['tile_m']}")
    source = tmp_path / "claims.c"
    source.write_text("\n".join([*lines, "int main(void) { return 0; }", ""]))
    command = [
        compiler,
        "-x",
        language,
        "-Wall",
        "-Wextra",
        "-Werror",
        "-fsyntax-only",
        f"-I{folder}",
        str(source),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr

    source.write_text(source.read_text().replace("== 0x48,", "== 0x4c,"))
    assert subprocess.run(command, capture_output=True, check=False).returncode != 0


def test_export_ip_xact_agrees(folder: Path) -> None:
    space = {"x": "http://www.accellera.org/XMLSchema/IPXACT/1685-2014"}

    def number(node: Any, name: str) -> int:
        text = node.find(f"x:{name}", space).text
        return int(text.replace("'h", ""), 16 if "'h" in text else 10)

    def walk(node: Any, path: tuple[str, ...], base: int) -> Iterator[tuple[Any, Any]]:
        for child in node.findall("x:registerFile", space):
            name = child.find("x:name", space).text
            yield from walk(child, (*path, name), base + number(child, "addressOffset"))
        for child in node.findall("x:register", space):
            address = base + number(child, "addressOffset")
            for field in child.findall("x:field", space):
                if field.findtext("x:isPresent", "1", space) == "0":
                    continue
                names = (child.find("x:name", space).text, field.find("x:name", space).text)
                place = (address, number(field, "bitOffset"), number(field, "bitWidth"))
                yield (*path, *names), place

    root = ElementTree.parse(folder / f"{NAME}.xml").getroot()
    found = dict(walk(root.find(".//x:addressBlock", space), (), 0))
    assert found == places()
    assert [root.find(f"x:{tag}", space).text for tag in ("vendor", "name", "version")] == [  # type: ignore[union-attr]
        "carrysave",
        NAME,
        "3.14.15",
    ]


def test_export_python_model_agrees(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(folder)
    model = importlib.import_module(f"{NAME}.reg_model.{NAME}")
    callbacks = importlib.import_module(f"{NAME}.lib").NormalCallbackSet
    memory = {0x48: 17, 0x68: 0x1234}
    written: list[tuple[int, int]] = []

    def read(addr: int, width: int, accesswidth: int) -> int:
        assert width == accesswidth == 32
        return memory.get(addr, 0)

    def write(addr: int, width: int, accesswidth: int, data: int) -> None:
        assert width == accesswidth == 32
        written.append((addr, data))

    top = getattr(model, f"{NAME}_cls")(
        callbacks=callbacks(read_callback=read, write_callback=write)
    )

    def walk(node: Any, path: tuple[str, ...]) -> Iterator[tuple[Any, Any]]:
        for register in node.get_registers(unroll=True):
            for field in register.fields:
                place = (register.address, field.low, field.width)
                yield (*path, register.inst_name, field.inst_name), place
        for section in node.get_sections(unroll=True):
            yield from walk(section, (*path, section.inst_name))

    assert dict(walk(top, ())) == places()
    assert top.JOB.M.value.read() == 17
    assert top.JOB.MODE.a_format.read() == 4
    top.JOB.N.value.write(99)
    assert written == [(0x4C, 99)]


def test_export_pyuvm_model_agrees(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(folder)
    block = getattr(importlib.import_module(f"{NAME}_pyuvm"), NAME)("top")
    block.build()
    block.lock_model()
    accesses = {}

    def walk(node: Any, path: tuple[str, ...], base: int) -> Iterator[tuple[Any, Any]]:
        own = node.get_default_map()
        for register in node.get_registers(False):
            address = base + register.get_offset(own)
            for field in register.get_fields():
                name = (*path, register.get_name(), field.get_name())
                accesses[name] = field.get_access()
                yield name, (address, field.get_lsb_pos(), field.get_n_bits())
        for child in node.get_blocks(False):
            offset = own.get_submap_offset(child.get_default_map())
            yield from walk(child, (*path, child.get_name()), base + offset)

    assert dict(walk(block, (), 0)) == places()
    assert accesses["CTRL", "start"] == "W1S"
    assert accesses["CTRL", "done"] == "RC"
    assert accesses["ISR", "error"] == "W1T"
    assert accesses["ERROR", "ignored"] == "W1C"
    assert accesses["JOB", "M", "value"] == "RW"
    assert accesses["MAGIC", "value"] == "RO"


def test_export_html_stands_alone(folder: Path) -> None:
    page = (folder / f"{NAME}_html" / "index.html").read_text()
    assert 'src="http' not in page
    assert 'src="data/data_index.js' in page
    data = (folder / f"{NAME}_html" / "data" / "ral-data-0.json").read_text()
    assert all(f'"{field.register.inst_name}"' in data for field in FIELDS)


def digests(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_export_is_deterministic(folder: Path, tmp_path: Path) -> None:
    """In another process, with another hash of strings, at another time, in another folder."""
    program = (
        "import sys; from pathlib import Path; import time; time.time = lambda: 1e9\n"
        "from carrysave.ip.registers import export\n"
        "from verif.soc.registers.bench import BUILD\n"
        f"export(Path(sys.argv[1]), BUILD, name={NAME!r}, docs=True)"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "77"}
    command = [sys.executable, "-c", program, str(tmp_path)]
    subprocess.run(command, check=True, env=environment, cwd=Path(registers.__file__).parents[2])
    assert digests(tmp_path) == digests(folder)
    assert len(digests(folder)) > 30


def test_export_replaces_what_was_there_and_fails_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other.v"
    other.write_text("module other; endmodule\n")
    registers.export(tmp_path, BUILD, name=NAME)
    (tmp_path / NAME / "stale.py").write_text("")
    registers.export(tmp_path, {**BUILD, "tile_m": 17}, name=NAME)
    assert not (tmp_path / NAME / "stale.py").exists()
    assert not (tmp_path / f"{NAME}_html").exists()
    assert "TILE_M__VALUE_reset 0x11" in (tmp_path / f"{NAME}.h").read_text()
    before = digests(tmp_path)

    def fail(*_: object, **__: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("peakrdl_html.exporter.HTMLExporter.export", fail)
    with pytest.raises(OSError, match="disk full"):
        registers.export(tmp_path, BUILD, name=NAME, docs=True)
    assert digests(tmp_path) == before
    assert other.exists()
    with pytest.raises(TypeError, match="parameters must be"):
        registers.export(tmp_path / "none", {})
    assert not (tmp_path / "none").exists()
