"""Requirements of a design, numbered, and what covers each.

They are read from two places, by the same rule for all designs: sentences of docstrings, the
component's first and then, of those it is derived from, sentences whose labels it has not; and
ports, reset and parameters.
"""

import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from carrysave.signoff.part import FAILED, IMPOSSIBLE, PASSED, Part
from carrysave.sim.rules.bound import bound
from golden.check import Integer
from hw.catalog import CATALOG, Design
from hw.emit.flat_ports import streams_of

__all__ = ["Requirement", "requirements_of", "requirements_part"]

_LABELS = ("Latency", "Throughput", "Stalls", "Rounding", "Overflow")
"""Words with a colon or a comma behind them, which begin a rule in docstrings."""
_WORDS = {
    "latency": r"\blatency\b|\bcycles? (later|after)",
    "throughput": r"\bthroughput\b|per cycle|without a gap",
    "stalls": r"\bstalls?\b|\bready\b|\bbubble|\bwait",
    "overflow": r"\boverflow|\bmodulo\b|\bsaturat|\binfinit",
    "rounding": r"\bround(s|ed|ing)?\b|\bnearest\b",
    "errors": r"\brefuse|\billegal|\berrors?\b|\binvalid\b",
}
"""Kinds of a sentence, by its words; the first that fits. All others say which value comes out."""
_TESTS = {
    "latency": r"latency|cycles",
    "throughput": r"throughput|cycles|back_to_back|single",
    "stalls": r"stall|wait|burst|sparse|starved|schedule|random|latency_and|jobs|orders",
    "overflow": r"extreme|overflow|limit|longest|largest|saturat|pairs|all_sums|golden",
    "rounding": r"round|ties|shift|pairs|all_sums|golden",
    "errors": r"refus|error|illegal|fault|invalid|none|golden",
    "reset": r"reset",
    "value": r"golden|pairs|digits|products|sums|codes|rows|every|all_|jobs|combinations|small"
    r"|single|values|random|tables|places",
}
"""Names of a bench's tests that cover a kind."""
_SECTIONS = r"\n(Parameters|Members|Examples|Returns|Raises)\n-+\n"


class Requirement(NamedTuple):
    """One requirement.

    Members
    -------
    kind : of :data:`_TESTS`, or ``stream``, ``bus``, ``power-up``, ``timing``, ``parameters``.
    text : what is promised.
    source : where it stands.
    subject : name of a stream or bus; empty for others.
    """

    kind: str
    text: str
    source: str
    subject: str = ""


def requirements_of(design: Design) -> list[Requirement]:
    """List the requirements of a design, in the order in which they are numbered."""
    component = design.component()
    listed = [*_sentences(type(component))]
    streams = streams_of(component)
    for name, (inward, fields) in streams.items():
        way = "takes" if inward else "gives"
        text = f"Stream {name} {way} {', '.join(fields)}"
        listed.append(Requirement("stream", text, "ports", name))
    for name, member in component.signature.members.items():
        bus = None if member.is_port else getattr(member.signature, "bus", None)
        if bus is not None:
            text = f"Bus {name} keeps the rules of {bus.protocol}"
            listed.append(Requirement("bus", text, "ports", name))
    listed += [
        Requirement("reset", "rst brings it back to its first state, at any time", "ports"),
        Requirement("power-up", "After power-up nothing unknown comes out", "ports"),
        Requirement("timing", "What timing depends on is known, of each input", "ports"),
        Requirement("parameters", "Parameters beyond their ranges are refused", "parameters"),
    ]
    return listed


def _sentences(component: type) -> Iterator[Requirement]:
    """Yield sentences of docstrings."""
    had: set[str] = set()
    for base in component.__mro__:
        if ".hw." not in f".{base.__module__}" and base is not component:
            continue
        text = re.split(_SECTIONS, inspect.cleandoc(base.__doc__ or ""))[0]
        prose = " ".join(re.sub(r":\w+:`~?([^`]*)`", r"\1", text).split())
        labels = set()
        for sentence in re.split(r"(?<=[a-z0-9)`^_}\]])\.\s+(?=[A-Z`])", prose):
            label = re.match(r"(\w+)[:,]", sentence)
            name = label[1] if label and label[1] in _LABELS else ""
            if base is not component and (not name or name in had):
                continue
            if "Members: see" in sentence or not sentence.strip():
                continue
            labels.add(name)
            kind = name.lower() or _kind(sentence)
            yield Requirement(kind, sentence.strip().rstrip("."), base.__qualname__)
        had |= labels


def _kind(sentence: str) -> str:
    if sentence.startswith("Computes "):
        return "value"
    return next((k for k, words in _WORDS.items() if re.search(words, sentence, re.I)), "value")


def requirements_part(
    design: Design,
    parts: Mapping[str, Part],
    tests: Sequence[str],
    coverage: Sequence[Mapping[str, Any]],
) -> Part:
    """Link each requirement to what covers it; one that nothing covers is a hole.

    Parameters
    ----------
    parts : all others.
    tests : names of those that passed, none of which failed with another seed.
    coverage : functional, see :func:`carrysave.regress.coverage.merge`.
    """
    rows = []
    for number, one in enumerate(requirements_of(design), 1):
        covered = [*_covering(one, design, parts, tests, coverage)]
        rows.append({
            "number": number,
            "kind": one.kind,
            "text": one.text,
            "source": one.source,
            "covered": covered,
        })
    holes = [row["number"] for row in rows if not row["covered"]]
    says = f"{len(rows) - len(holes)} of {len(rows)} covered"
    if holes:
        says += f"; not: {', '.join(f'R{number}' for number in holes)}"
    return Part("requirements", FAILED if holes else PASSED, says, {"rows": rows, "holes": holes})


def _covering(
    one: Requirement,
    design: Design,
    parts: Mapping[str, Part],
    tests: Sequence[str],
    coverage: Sequence[Mapping[str, Any]],
) -> Iterator[str]:
    """Yield what covers a requirement."""

    def ok(name: str) -> bool:
        return name in parts and parts[name].outcome == PASSED

    if one.kind in _TESTS:
        fit = (test for test in tests if re.search(_TESTS[one.kind], test))
        yield from dict.fromkeys("test " + re.sub(r"[/\[].*", "", test) for test in fit)
        if one.kind == "value" and ok("proof"):
            yield "proof by algebra"
    elif one.kind == "stream":
        for cross in coverage:
            if "stream" in cross["points"]:
                beats = sum(row[-1] for row in cross["hits"] if row[0] == one.subject)
                if beats:
                    yield f"{beats:,} beats seen by the bench"
    elif one.kind == "bus":
        if tests and bound(design):
            yield f"rules watched in {len(tests)} tests"
    elif one.kind == "power-up" and ok("unknowns"):
        yield "bench in Icarus, with x"
    elif one.kind == "timing" and "timing" in parts:
        if parts["timing"].outcome in (PASSED, IMPOSSIBLE):
            yield f"contract: {parts['timing'].why}"
    elif one.kind == "parameters" and not _accepted(design):
        yield "a value below and one above each range are tried, and a wrong text"


def _accepted(design: Design) -> list[str]:
    """Return integers out of range that the design takes all the same."""
    taken = []
    for key, kind in CATALOG[design.name].parameters.items():
        for value in (kind.low - 1, kind.high + 1) if isinstance(kind, Integer) else ("?",):
            try:
                Design(design.name, dict(design.changed) | {key: value})
            except (TypeError, ValueError):
                continue
            taken.append(f"{key}={value}")
    return taken
