"""Generated pages: they say what the code says, and their pictures are what the netlist is."""

import inspect
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from carrysave.asic.placement.technology import TECHNOLOGIES
from carrysave.docs import cells, design_page, reference, status
from carrysave.docs.evidence import KINDS
from carrysave.docs.figures import figures_of, tiers_of
from carrysave.docs.origins import AFTER, COMPARED, origins_of
from carrysave.docs.samples import command_of, sample
from carrysave.drawings import block_diagram
from carrysave.drawings.sources import ROOT
from carrysave.drawings.structure import LOGIC, Link, structure_of
from carrysave.jobs.rows import COLUMNS
from carrysave.papers import eight_bits, lanes, layer, ratios, rivals
from carrysave.vectors.tables import MEANINGS
from golden.engine import EngineSpec
from golden.npe.npe import NpeSpec
from hw.catalog import CATALOG, Design
from hw.device import NAMES

FIGURES = ROOT / "docs" / "figures"


def test_structure_is_that_of_the_netlist() -> None:
    """Columns in a chain, between the streams; the control beside them makes no data."""
    hows = {"pe": "mac", "encoding": "booth"}  # A reaches the columns as it comes in
    found = structure_of(Design("systolic_os", {"m": 2, "n": 3, **hows}))
    parts = {part.name: part for part in found.parts}
    assert parts["column"].count == 3
    assert parts["column"].chained
    assert "2 x mac" in parts["column"].lines
    assert (found.inputs, found.outputs) == (("i_a", "i_b"), ("o_c",))
    links = set(found.links)
    assert {Link("i_a", "column", 16), Link("i_b", "column", 8)} <= links
    assert any((one.source, one.target) == ("column", "o_c") and one.bits >= 32 for one in links)


def test_a_design_without_submodules_is_one_part() -> None:
    found = structure_of(Design("encoder"))
    assert [part.name for part in found.parts] == [LOGIC]
    assert {(one.source, one.target) for one in found.links} == {("i", LOGIC), (LOGIC, "o")}


def test_a_picture_has_every_part_and_stream() -> None:
    found = structure_of(Design("systolic_os", {"m": 2, "n": 3, "pe": "mac"}))
    tree = ElementTree.fromstring(block_diagram.draw(found))
    texts = [text.text for text in tree.iter("{http://www.w3.org/2000/svg}text")]
    assert {"3 x column, in a chain", "feed", "rows", "i_a", "i_b", "o_c"} <= set(texts)


def test_page_of_a_design(tmp_path: Path) -> None:
    """Every parameter and port is there; both pictures are well-formed; the streams move."""
    design_page.write("lmul", tmp_path, FIGURES)
    page = (tmp_path / "lmul.md").read_text()
    for name, kind in CATALOG["lmul"].parameters.items():
        assert f"| `{name}` |" in page
        assert kind.doc in page
    assert "| `i_valid` | input | 1 |" in page
    for picture in ("block", "timing"):
        ElementTree.parse(tmp_path / f"lmul.{picture}.svg")
    assert "o_valid = 1" in (tmp_path / "lmul.timing.svg").read_text()


@pytest.mark.sample(12)
@pytest.mark.parametrize("name", CATALOG)
def test_samples_are_what_their_commands_say(name: str) -> None:
    design = sample(name)
    words = command_of(design).replace("'", "").split(" -p ")
    assert words[0] == name
    assert Design.parse(name, dict(word.split("=", 1) for word in words[1:])) == design


def test_figures_are_those_of_the_design() -> None:
    """The longest name counts: `lut_core` is no row of `lut_unit`, Booth's `mac` one of `mac`."""
    rows = [row[0] for one in figures_of("mac", FIGURES) for row in one.rows]
    assert {"mac_pipeline1", "mac_encoding_booth"} <= set(rows)
    assert not any(row.startswith("opt1") for row in rows)
    assert all(one.tier for name in CATALOG for one in figures_of(name, FIGURES))
    assert "mapped" in tiers_of("opt1", FIGURES)


@pytest.fixture(scope="module")
def lines() -> list[str]:
    return status.status(FIGURES).splitlines()


def test_status_has_every_design(lines: list[str]) -> None:
    for name, entry in CATALOG.items():
        line = next(one for one in lines if one.startswith(f"| [{name}]("))
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        for kind, cell in zip(KINDS, cells[1:], strict=False):
            assert (cell == "yes") == any(kind in one for one in entry.evidence), (name, kind)


def test_formats_and_registers() -> None:
    formats = reference.formats()
    assert "| `e4m3` | 8 | 0.00195312 | -448 .. 448 | NaN |" in formats  # OCP's OFP8
    assert "| `posit8e0` | 8 | 0.015625 | -64 .. 64 | NaN |" in formats
    assert "`CTRL.start` | 0 | read, write; writing 1 sets" in reference.registers()
    assert "`aw_page` | manager | IHI 0022E A3.4.1 |" in reference.rules()


def test_files_are_described() -> None:
    """Those with a schema, field by field; the others by what writes them."""
    text = reference.files()
    for path in (ROOT / "verif" / "schemas").glob("*.json"):
        assert f"## {path.stem}\n" in text
    assert all(f"| `{name}` | {kind} |" in text for name, kind in COLUMNS.items())
    assert all(f"| {name} | " in text for name in MEANINGS)


def test_commands_are_all_there() -> None:
    text = reference.commands()
    for name in ("list", "generate", "verify", "synth", "demo"):
        assert f"## carrysave {name}\n" in text
    assert "`--netlist STR`" in text


def test_status_has_every_engine_format_operator_and_target(lines: list[str]) -> None:
    """As many as the code has; what is proven by nothing is known here."""
    engines = {name for name, one in CATALOG.items() if issubclass(one.spec, (EngineSpec, NpeSpec))}
    assert engines == {
        name for name in CATALOG if lines_of(lines, f"[{name}](designs/{name}.md)")[1:]
    }
    for name in (*reference.NAMED, *reference.BLOCKS, "QGemm", "QLinearConcat", "MatMulNBits"):
        assert len(lines_of(lines, f"`{name}`")) == 1, name
    for name in ("osu018", "generic", "--liberty", *NAMES):
        assert len([one for one in lines if one.startswith(f"| `{name}`: ")]) == 1, name
    unproven = [line for line in lines if line.endswith("| none |")]
    assert [line.split("`")[1] for line in unproven if "| host" in line or "| block" in line] == []
    (e4m3,) = lines_of(lines, "`e4m3`")
    assert "[sl8](designs/sl8.md)" in e4m3
    assert "[mac](designs/mac.md)" not in e4m3
    (held,) = lines_of(lines, "`MxFormat`")
    assert "gfloat" in held


def lines_of(lines: list[str], first: str) -> list[str]:
    """Return the rows that begin with a cell."""
    return [line for line in lines if line.startswith(f"| {first} |")]


def test_tables_of_papers_compare_what_origins_say() -> None:
    """Of ratios, the designs of all rows; of the others, those that their code names."""
    found = {
        name: {
            one.name
            for quick in (True, False)
            for row in rows(quick)
            for one in (*row.optimised, *row.baseline)
        }
        for name, rows in (("hpca25", ratios.hpca25), ("ent", ratios.ent))
    }
    for name, modules, parts in (
        ("xr-npe", (lanes,), set()),
        ("lut-tensor-core", (rivals, layer), {"mac"}),  # the element of `adder_tree`
        ("fp8-int8", (eight_bits,), set()),
    ):
        text = "".join(inspect.getsource(module) for module in modules)
        found[name] = set(CATALOG) & set(re.findall(r'"(\w+)"', text)) - parts
    assert found == {name: set(designs) for name, designs in COMPARED.items()}
    assert set(AFTER) <= set(CATALOG)
    (after, coded, *_) = origins_of("opt1")
    assert "OPT1" in after
    assert "EN-T" in coded


def test_cells_are_what_the_flow_takes() -> None:
    text = cells.cells()
    for name, own in TECHNOLOGIES.items():
        assert f"| `{name}` | {own.capacitance} | {own.resistance} | {own.row_height} |" in text
    assert "| of these taken | 62 |" in text
