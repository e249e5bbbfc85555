"""What was run: every cell has its evidence, and no evidence is said not to be there."""

import importlib
import re
from itertools import product
from pathlib import Path

import pytest

from carrysave.docs.evidence import kinds_of
from carrysave.docs.figures import tables_in
from hw.catalog import CATALOG
from hw.device import NAMES
from verif.asic import test_netlist
from verif.sim.test_unknowns import ENGINES
from verif.soc import test_coprocessor_rtl

DOCS = Path(__file__).resolve().parents[2] / "docs"
matrix = importlib.import_module("scripts.upkeep.matrix")  # of a checkout, above these tests
PAIRS = [*product(CATALOG, matrix.TARGETS)]
CELLS = {(*pair, step): cell for pair in PAIRS for step, cell in matrix.cells_of(*pair).items()}
COMMAND = re.compile(r"`carrysave\s+synth\s+(\w+)([^`]*)`")


def section_of(page: str, heading: str) -> str:
    """Return the text below a heading, with sections below that."""
    text = (DOCS / (page or "status.md")).read_text()
    mark = re.search(rf"^(#+) {re.escape(heading)}$", text, re.MULTILINE)
    assert mark, (page, heading)
    after = text[mark.end() :]
    return re.split(rf"^#{{1,{len(mark[1])}}} ", after, flags=re.MULTILINE)[0]


def test_every_design_and_step_has_a_place() -> None:
    for name in CATALOG:
        assert {*matrix.cells_of(name, matrix.PLAIN)} >= {"generate", "verify"}
    assert {step for *_, step in CELLS} == {*matrix.STEPS}
    assert all(matrix.has(target, step) for _, target, step in CELLS)


def test_rows_are_those_cells() -> None:
    """Each is in the row of its design and target; other cells are `not run` or have no step."""
    lines = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in (DOCS / "status.md").read_text().splitlines()
        if line.startswith("| `")
    ]
    rows = {(row[0].strip("`"), row[1]): row[2:] for row in lines if row[1] in matrix.TARGETS}
    assert {*rows} == {(name, target) for name, target, _ in CELLS}
    for (name, target), row in rows.items():
        for step, cell in zip(matrix.STEPS, row, strict=True):
            none = matrix.NOT_RUN if matrix.has(target, step) else "-"
            assert cell == str(CELLS.get((name, target, step), none)), (name, target, step)


def test_links_lead_to_sections_of_that_tier() -> None:
    for key, cell in CELLS.items():
        text = section_of(cell.page, cell.section)
        if cell.page.startswith("figures/"):
            tiers = re.findall(r"^Tier: .*?(?:\n\n|\Z)", text, re.MULTILINE | re.DOTALL)
            assert any(re.search(rf"\b{cell.word}\b", tier) for tier in tiers), (key, cell)


@pytest.mark.parametrize("key", matrix.SHOWN, ids="-".join)
def test_sections_name_design_and_target(key: tuple[str, str, str]) -> None:
    name, target, _ = key
    _, page, heading = matrix.SHOWN[key]
    text = section_of(f"figures/{page}.md", heading).casefold()
    names = {name, name.removesuffix("_core"), name.removesuffix("_core").replace("_", "-")}
    others = {
        "coprocessor_uart": "board",
        "lmul": "two e4m3",
        "float_mac": "fp32",
        "npe": "array",
        "bitserial_core": "bit-serial",
        "coprocessor": "array of 8 x 8",
    }
    assert any(re.search(rf"\b{one}", text) for one in {*names, others.get(name, name)})
    assert target == matrix.PLAIN or target in text


def test_tests_have_these_cases() -> None:
    """Designs and targets of the cells that are links to tests."""
    marks = vars(test_netlist.test_netlist_passes_the_bench)["pytestmark"]
    (mark,) = [one for one in marks if one.name == "parametrize"]
    names = {str(one if isinstance(one, str) else one.values[0]) for one in mark.args[1]}
    assert names == {name for name, target, _ in CELLS if target == "osu018"} == {*CATALOG}
    assert {*ENGINES} == {name for name, one in CATALOG.items() if "target" in one.build}
    icarus = {key[:2] for key, cell in CELLS.items() if cell.word == "icarus"}
    assert icarus == {*product(ENGINES, NAMES)}
    cases = [*test_coprocessor_rtl.CASES, *test_coprocessor_rtl.LONG]
    assert any("target=ecp5" in str(case) for case in cases)
    proven = {name for name, one in CATALOG.items() if "formal proof" in kinds_of(one.evidence)}
    assert {name for name, _, step in CELLS if step == "proof"} == proven


def test_what_figures_say_was_run_is_not_said_to_be_missing() -> None:
    """Commands on the pages of figures, and rows of tables that begin with a target."""
    seen = set()
    for page in sorted((DOCS / "figures").glob("*.md")):
        for name, options in COMMAND.findall(page.read_text()):
            target = re.search(r"--target\s+(\w+)", options)
            library = "sky130" if "sky130" in options else ""
            if target or library:
                seen.add((name, target[1] if target else library))
    for table in tables_in(DOCS / "figures"):
        if table.heads[:2] == ("target", "array"):
            for row in table.rows:
                name = re.match("|".join(sorted(CATALOG, key=len, reverse=True)), row[1])
                if name:
                    seen.add((name[0], row[0]))
    assert len(seen) > 10
    missing = {one for one in seen if one[1] in matrix.TARGETS and (*one, "synth") not in CELLS}
    assert not missing
