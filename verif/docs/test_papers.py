"""Papers by name: commands are real, figures are those of the pages, the page is the data."""

import json
import re
import shlex
from itertools import pairwise
from pathlib import Path

import pytest
from rich.console import Console

from carrysave import cli, papers
from carrysave.cli import options
from carrysave.papers import known
from carrysave.papers.known import Paper
from hw.catalog import CATALOG, Design
from verif.docs.test_snippets import check
from verif.papers.test_ratios import call

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAPERS = known.read()
COMMANDS = sorted({paper.command for paper in PAPERS if paper.command})
_SOUGHT = """
    FuseMax COMET COSMA InTAR DRACO LeaSyn ABC-RL NASAIC wa-hls4ml AccLLM Flash-LLM GPUSQ LLM.int8
    ResQ eDKM NF4 BiBench Quartet CATS SmallThinker im2win ShiftQuant AWQ Tilus EN-T XR-NPE L-Mul
    MixPE SAIL HAWQ I-ViT FP6-LLM ZeroQuant-FP TurboMind FlashAttention-3 SnapKV MoBA BiFormer
    Monarch FlashRNN GLA PreRoutGNN ProxylessNAS FBNetV3 SN40L Step-3 COAT
"""
SOUGHT = re.findall(r"\S+", _SOUGHT)
"""Short names that somebody may search for."""

LINK = re.compile(r"\]\(([^)#]+)(?:#([^)]+))?\)")
NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:,\d{3})*(?:\.\d+)?(?![\w])")


def each(paper: Paper) -> str:
    return paper.short


def test_names_and_words() -> None:
    """No paper is there twice; statuses are of three words; nothing is left empty."""
    for name in ("short", "title"):
        names = [getattr(paper, name).casefold() for paper in PAPERS]
        assert len(set(names)) == len(names)
    assert len(PAPERS) >= 90
    assert {paper.status for paper in PAPERS} == set(known.STATUSES)
    for paper in PAPERS:
        assert paper.theirs, paper.short
        assert paper.why, paper.short
        assert (paper.status == "not here") == (not paper.ours), paper.short
        assert bool(paper.ours) == bool(paper.command), paper.short


def test_page_is_the_data() -> None:
    page = (DOCS / "papers.md").read_text()
    assert known.markdown() in page
    for word, meaning in known.STATUSES.items():
        assert f"| {word} | {meaning} |" in page


@pytest.mark.parametrize("name", SOUGHT)
def test_a_name_is_found(name: str) -> None:
    """In bold, where the site's search finds it, at the beginning of one row."""
    page = (DOCS / "papers.md").read_text()
    bold = re.findall(r"^\| \*\*([^*]+)\*\*", page, re.M)
    assert sum(one.casefold().startswith(name.casefold()) for one in bold) == 1


def test_whole_names_come_before_parts() -> None:
    assert [known.find(name) for p in PAPERS for name in (p.short, p.title)] == [
        p for p in PAPERS for _ in range(2)
    ]
    assert known.find("attention") is None  # of several papers


def anchors(page: Path) -> set[str]:
    """Return the anchors that Sphinx makes of headings."""
    heads = re.findall(r"^#+ (.*)$", page.read_text(), re.M)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("paper", PAPERS, ids=each)
def test_links_are_there(paper: Paper) -> None:
    for name, anchor in LINK.findall(paper.ours + paper.why):
        page = DOCS / name
        assert page.exists(), name
        assert not anchor or anchor in anchors(page), f"{name}#{anchor}"


@pytest.mark.parametrize("paper", PAPERS, ids=each)
def test_figures_are_on_the_pages_that_are_linked(paper: Paper) -> None:
    """Each number of ours that is not part of a name stands on one of these pages."""
    pages = [(DOCS / name).read_text() for name, _ in LINK.findall(paper.ours)]
    text = re.sub(r"`[^`]*`", "", LINK.sub("]", paper.ours))
    for number in NUMBER.findall(text):
        if not re.search(r"[.,]|\d{3}", number):
            continue  # sizes, such as 8 x 8 and 16 bits
        plain = number.lstrip("+-")
        pattern = rf"(?<![\d.,]){re.escape(plain)}(?![\d]|[.,]\d)"
        assert any(re.search(pattern, page) for page in pages), number


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_are_legal(command: str) -> None:
    """Commands and options exist; designs, also those that networks run on, can be built."""
    words = shlex.split(command)
    check(words)
    if words[0] != "carrysave":
        return
    kind, first = words[1:3]
    given = dict(one.split("=", 1) for flag, one in pairwise(words) if flag == "-p")
    if kind == "reproduce":
        assert first in papers.TABLES
    elif first in CATALOG:
        Design.parse(first, given).component()
    elif given:
        Design.parse("npe" if kind == "precision" else "coprocessor", given).component()


def test_tables_have_their_papers() -> None:
    assert {paper.table for paper in PAPERS} - {None} == set(papers.TABLES)


def test_list(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(options, "console", Console(width=200))
    assert call(monkeypatch, "--list") == 0
    shown = capsys.readouterr().out
    assert all(paper.short in shown for paper in PAPERS)
    assert call(monkeypatch, "--list", "--json") == 0
    listed = json.loads(capsys.readouterr().out)["papers"]
    assert [one["status"] for one in listed] == [paper.status for paper in PAPERS]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("leasyn", "LeaSyn is done. see: carrysave contract digit_column -p m=2"),
        ("NASAIC", "NASAIC is not here. `explore` has one engine"),
        ("hpca", "hpca is no table; HPCA 2025, bit-weight TPE is done. see: carrysave reproduce"),
        ("", "unknown table ''"),
    ],
)
def test_papers_without_tables(
    name: str, message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Part of a name starts nothing: a table may take hours."""
    monkeypatch.setattr(papers, "run", None)
    assert call(monkeypatch, name) == 2
    assert message in capsys.readouterr().err


def test_a_table_is_wanted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(monkeypatch) == 2
    assert "give a table, one of hpca25" in capsys.readouterr().err


@pytest.mark.parametrize(("name", "table"), [("en-t", "ent"), ("FP8 versus INT8", "fp8-int8")])
def test_names_of_papers_are_those_of_their_tables(
    name: str, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Reached(Exception):
        pass

    def run(name: str, *_: object, **__: object) -> None:
        raise Reached(name)

    monkeypatch.setattr(papers, "run", run)
    monkeypatch.setattr("sys.argv", ["carrysave", "reproduce", name])
    with pytest.raises(Reached, match=f"^{table}$"):
        cli.main()
