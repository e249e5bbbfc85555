"""Pages of the documentation, and README: links, tiers; README's length and table."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import carrysave

ROOT = Path(carrysave.__file__).parents[1]
README = ROOT / "README.md"
FIGURES = sorted((ROOT / "docs" / "figures").glob("*.md"))
TIERS = ("mapped", "placed", "routed", "timed", "simulated", "bounded")
# Names of files in the tree, as `hw/pe/opt1.py`.
NAMED = re.compile(r"`((?:carrysave|constraints|docs|examples|golden|hw|scripts|verif)/[\w./]+)`")


def pages() -> list[Path]:
    """Every page that is written by hand."""
    return [README, *sorted((ROOT / "docs").rglob("*.md"))]


def test_readme_is_short() -> None:
    assert len(README.read_text().splitlines()) <= 150


def test_readme_has_the_figures_of_the_pages() -> None:
    program = [sys.executable, str(ROOT / "scripts" / "upkeep" / "pages.py"), "--check"]
    done = subprocess.run(program, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_changes_have_no_links_to_files() -> None:
    """The site has them in another folder than the tree, where such links lead nowhere."""
    assert "](docs/" not in (ROOT / "CHANGELOG.md").read_text()


def broken(page: Path) -> Iterator[str]:
    """Links to files, and names of files, that are not there."""
    text = page.read_text()
    for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", text):
        # Sphinx checks links of the site, some of which are to generated pages.
        if "://" not in target and page == README and not (page.parent / target).exists():
            yield target
    for name in NAMED.findall(text):
        if not (ROOT / name).exists():
            yield name


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.stem)
def test_files_are_there(page: Path) -> None:
    assert not list(broken(page))


@pytest.mark.parametrize("page", FIGURES, ids=lambda page: page.stem)
def test_every_table_of_figures_says_its_tier(page: Path) -> None:
    if page.stem == "index":
        return
    whole, *sections = re.split(r"^## .*$", page.read_text(), flags=re.M)
    for section in sections or [whole]:
        if "| --- |" in section or page.stem == "boards":
            tier = re.search(r"^Tier: (.*)$", section, re.M)
            assert tier, section[:80]
            assert any(word in tier[1] for word in TIERS), tier[1]
    if sections:
        assert "| --- |" not in whole


# A number with a unit of what hardware costs, or how much better it is.
FIGURE = re.compile(
    r"\d\s?(um2|mm2|MHz|GOPS|TOPS|pJ|uJ|mW|ns|LUTs?|FFs|multiplier blocks|MMACs)\b"
    r"|\d\s?% (smaller|larger|faster|slower|less|more|fewer)\b"
    r"|\d times (smaller|larger|faster|slower)\b"
)


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.stem)
def test_every_figure_in_the_text_has_its_tier(page: Path) -> None:
    """In its paragraph, or in the line above a table; in docs/figures, in its section."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.M | re.S)
    whole = page.parent.name == "figures" and page.stem != "index"
    for part in re.split(r"\n## " if whole else r"\n\n", text):
        if FIGURE.search(part):
            assert re.search(rf"\b({'|'.join(TIERS)})\b", part, re.I), part[:300]


def test_pages_have_names_of_their_own() -> None:
    """A search shows titles alone."""
    titles = [page.read_text().partition("\n")[0] for page in pages() if page != README]
    titles = [title for title in titles if title.startswith("# ")]
    assert len(titles) >= 55
    assert sorted(title for title in set(titles) if titles.count(title) > 1) == []
