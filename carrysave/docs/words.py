"""The glossary, linked: a Sphinx extension that links the first use of each word on each page."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from docutils import nodes
from sphinx import addnodes

if TYPE_CHECKING:
    from sphinx.application import Sphinx

__all__ = ["EVERYDAY", "PAGE", "link", "mark", "setup", "terms"]

PAGE = "explanation/words"
"""The glossary's page, without its suffix."""

_EVERYDAY = """
ahead alive block buffer code density design destination element engine equivalent explicit
format front graph group job killed latency layout lookup map move operand parameter pass
placed product program record row scale scratch section simulated start state step store tap
throughput timed unreachable window
"""
EVERYDAY = frozenset(_EVERYDAY.split())
"""Words of the glossary that pages use in their everyday sense, too: these are not linked."""

_ITEM = re.compile(r"^- (.*(?:\n  .*)*)", re.MULTILINE)
_BOLD = re.compile(r"\*\*([^*]+)\*\*")
_ASIDE = re.compile(r"\*\*[^*]+\*\* \(([^)]*)\):")
_OTHERWISE = re.compile(r"(?:not|other|design|front)\s+beats?|tiers? of memory")
"""What has a word in another sense, such as designs that no other beats."""

_SKIPPED = (
    nodes.FixedTextElement,  # blocks of code, comments
    nodes.Titular,
    nodes.caption,
    nodes.field_name,
    nodes.literal,
    nodes.math,
    nodes.reference,
    nodes.term,  # names of parameters
    addnodes.desc_signature,
    addnodes.pending_xref,
    addnodes.toctree,
)


def terms(glossary: str) -> dict[str, str]:
    """Return the words that pages link, from the Markdown of the glossary.

    An item's words are those in bold, and those in brackets behind the first.

    Returns
    -------
    For each word the anchor of its item.
    """
    known: dict[str, str] = {}
    for item in _ITEM.findall(glossary):
        bold = _BOLD.findall(item)
        if not bold:
            continue
        aside = _ASIDE.match(item)
        also = [aside[1].replace("**", "")] if aside else []
        anchor = _anchor(bold[0])
        for words in (*bold, *also):
            for word in words.split(", "):
                if word not in EVERYDAY:
                    known.setdefault(word, anchor)
    return known


def mark(document: nodes.document) -> None:
    """Give items of the glossary the anchors that words link to."""
    for item in document.findall(nodes.list_item):
        for bold in item.findall(nodes.strong):
            item["ids"].append(_anchor(bold.astext()))
            break


def link(document: nodes.document, words: Mapping[str, str], uri: str) -> None:
    """Link the first use of each word to its item.

    Code, headings and links stay as they are. A word that a page links to the glossary by hand is
    not linked again.

    Parameters
    ----------
    document : a page, whose links are resolved.
    words : of :func:`terms`.
    uri : the glossary's, from this page.
    """
    left = dict(words)
    pattern = _pattern(words)
    for text in list(document.findall(nodes.Text)):
        above = list(_above(text))
        skipped = [node for node in above if isinstance(node, _SKIPPED)]
        if not skipped:
            pieces = list(_pieces(str(text), pattern, left, uri))
            text.parent.replace(text, pieces)
        elif any(str(node.get("refuri", "")).startswith(uri) for node in skipped):
            list(_pieces(str(text), pattern, left, uri))


def _anchor(word: str) -> str:
    return "word-" + nodes.make_id(word)


def _above(node: nodes.Node) -> Iterator[nodes.Element]:
    """Yield the elements that a node is in."""
    parent = node.parent
    while parent is not None:
        yield parent
        parent = parent.parent


def _pattern(words: Iterable[str]) -> re.Pattern[str]:
    """Match any word, the longest first; also capitalised, in the plural, or as a verb."""
    choices = "|".join(map(_spelt, sorted(words, key=len, reverse=True)))
    return re.compile(rf"(?<![\w-])({choices})(?:e?s|d)?(?![\w-])")


def _spelt(word: str) -> str:
    """Match a word with a small or a capital letter; names of libraries and units as they are."""
    first, rest = word[0], re.escape(word[1:]).replace(r"\ ", r"\s+")
    named = not word.replace(" ", "").replace("-", "").isalpha()
    return re.escape(first) + rest if named else f"[{first}{first.upper()}]{rest}"


def _pieces(
    text: str, pattern: re.Pattern[str], left: dict[str, str], uri: str
) -> Iterator[nodes.Node]:
    """Yield a text in pieces; words that are left become links, and are left no more."""
    done = 0
    others = [match.span() for match in _OTHERWISE.finditer(text)]
    for match in pattern.finditer(text):
        if any(start <= match.start() < end for start, end in others):
            continue
        word = " ".join(match[1].split())
        anchor = left.pop(word, None) or left.pop(word[0].lower() + word[1:], None)
        if anchor is not None:
            yield nodes.Text(text[done : match.start()])
            place = f"{uri}#{anchor}"
            yield nodes.reference("", match[0], refuri=place, internal=True, classes=["word"])
            done = match.end()
    yield nodes.Text(text[done:])


def _resolved(app: "Sphinx", document: nodes.document, name: str) -> None:
    """Mark the glossary, or link the words of another page."""
    if name == PAGE:
        mark(document)
    else:
        words = terms((app.srcdir / f"{PAGE}.md").read_text())
        link(document, words, app.builder.get_relative_uri(name, PAGE))


def setup(app: "Sphinx") -> dict[str, Any]:
    """Join a build."""
    app.connect("doctree-resolved", _resolved)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
