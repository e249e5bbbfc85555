"""The glossary is linked at the first use of its words: by the build of the site."""

import re
from pathlib import Path

import pytest
from docutils import nodes
from docutils.core import publish_doctree
from sphinx.cmd.build import main as sphinx

import carrysave
from carrysave.docs.words import EVERYDAY, PAGE, link, terms

ROOT = Path(carrysave.__file__).parents[1]
GLOSSARY = (ROOT / "docs" / f"{PAGE}.md").read_text()
URI = "explanation/words.html"


def links(source: str) -> list[tuple[str, str]]:
    """Return the text and target of links to the glossary, of a page in reStructuredText."""
    page = publish_doctree(source, settings_overrides={"report_level": 5})
    before = page.astext()
    link(page, terms(GLOSSARY), URI)
    assert page.astext() == before, "the text itself changed"
    return [
        (node.astext(), node["refuri"].partition("#")[2])
        for node in page.findall(nodes.reference)
        if "word" in node["classes"]
    ]


def test_words_of_the_glossary() -> None:
    known = terms(GLOSSARY)
    assert known["tile"] == known["beat"] == "word-tile"  # one item
    assert known["processing element"] == known["PE"] == "word-element"
    assert known["zero point"] == "word-scale-zero-point"
    assert known["twin"] == known["golden twin"] == "word-golden"
    assert known["feature map"] == "word-map"
    assert not EVERYDAY & known.keys()
    assert len(known) > 50


def test_everyday_words_are_of_the_glossary() -> None:
    """Else the list has what is gone."""
    bold = {word for text in re.findall(r"\*\*([^*]+)\*\*", GLOSSARY) for word in text.split(", ")}
    assert bold >= EVERYDAY


def test_the_first_use_is_linked_once() -> None:
    source = "Each tile has a beat.\n\nTiles of a beat, and tiles."
    assert links(source) == [("tile", "word-tile"), ("beat", "word-tile")]


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("Tiles come.", ["Tiles"]),
        ("It requantises, and is bounded.", ["requantises", "bounded"]),
        ("The golden\ntwin of it.", ["golden\ntwin"]),  # in place of golden
        ("*Stalls* of a PE.", ["Stalls", "PE"]),
        ("ge, pe, and Ge are no units; GE is.", ["GE"]),
        ("A subtile, tile-wise, retiled.", []),
        ("The code of a row in a map.", []),  # everyday words
        ("No other beats it; it does not beat another. A front\nbeat. Beats.", ["Beats"]),
        ("``tile`` and then tiles", ["tiles"]),
        ("Code::\n\n    tile = 1\n\nA lane.", ["lane"]),
        ("Of a tile_ again.\n\n.. _tile: https://example.org", []),
        ("The `tile <explanation/words.html#arrays>`_ by hand, and a tile.", []),
        ("Title of a lane\n===============\n\nText.\n\nA tile\n------\n\nA lane.", ["lane"]),
    ],
)
def test_where_words_are_linked(source: str, words: list[str]) -> None:
    assert [text for text, _ in links(source)] == words


def test_links_of_a_site_lead_to_items(tmp_path: Path) -> None:
    """By Sphinx, with the glossary as it is: each link has an anchor there."""
    source, out = tmp_path / "docs", tmp_path / "html"
    (source / "explanation").mkdir(parents=True)
    (source / "guides").mkdir()
    (source / "conf.py").write_text('extensions = ["myst_parser", "carrysave.docs.words"]\n')
    (source / f"{PAGE}.md").write_text(GLOSSARY)
    (source / "index.md").write_text(
        "# Page\n\nA tile in `tile`.\n\n```{toctree}\nexplanation/words\nguides/all\n```\n"
    )
    words = terms(GLOSSARY)
    (source / "guides" / "all.md").write_text("# All\n\n" + "\n\n".join(words) + "\n")
    assert not sphinx(["--fail-on-warning", "--quiet", "-b", "html", str(source), str(out)])
    page = (out / "index.html").read_text()
    assert re.findall(r'<a class="word[^"]*" href="([^"]*)">', page) == [f"{URI}#word-tile"]
    there = re.findall(
        r'<a class="word[^"]*" href="\.\./explanation/words\.html#([^"]*)">',
        (out / "guides" / "all.html").read_text(),
    )
    assert sorted(there) == sorted(words.values())
    glossary = (out / f"{PAGE}.html").read_text()
    assert "word reference" not in glossary
    anchors = re.findall(r'id="(word-[^"]*)"', glossary)
    assert set(words.values()) <= set(anchors)
    assert len(anchors) == len(re.findall(r"^- \*\*", GLOSSARY, re.M))


def test_the_site_links_words() -> None:
    assert '"carrysave.docs.words"' in (ROOT / "docs" / "conf.py").read_text()
