"""What Yosys changes in a source: each construct is kept, said, or refused with its line.

Yosys warns of some; of others it says nothing, and these are looked for in the text, of which
comments and strings are left out, and in the design that it read.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from hw.emit.spans import spans

__all__ = ["CONSTRUCTS", "Construct", "Finding", "in_design", "in_log", "in_text"]


@dataclass(frozen=True, kw_only=True)
class Construct:
    """Something in a source.

    Members
    -------
    fate : kept: the netlist computes it; said: a note tells what becomes of it; refused.
    says : what is said.
    text : where it is in a text without comments, or in comments if `comments`.
    """

    fate: Literal["kept", "said", "refused"]
    says: str = ""
    text: str = ""
    comments: bool = False


CONSTRUCTS: dict[str, Construct] = {
    "high impedance": Construct(
        fate="refused",
        says="high impedance (z) has no cell here: put an output and its enable in its place",
    ),
    "several drivers": Construct(fate="refused", says="must have one driver"),
    "latch": Construct(fate="said", says="a latch is inferred"),
    "initial value": Construct(fate="said", says="initial values are left out: cells have none"),
    "$display": Construct(fate="said", says="what prints or checks is left out"),
    "simulation task": Construct(
        fate="said",
        says="tasks of simulation are left out",
        text=r"\$(?:finish|stop|monitor|strobe|dumpfile|dumpvars|fopen|fwrite|fdisplay|fclose)\b",
    ),
    "delay": Construct(
        fate="said",
        says="delays are left out",
        text=r"#\s*(?:\d|[A-Za-z_])|(?:\bassign|<=|=|\balways|;|\bbegin)\s*#\s*\(",
    ),
    "specify": Construct(fate="said", says="specify blocks are left out", text=r"\bspecify\b"),
    "casex": Construct(
        fate="said", says="x and z of the selector match nothing in hardware", text=r"\bcasex\b"
    ),
    "casez": Construct(
        fate="said", says="z of the selector matches nothing in hardware", text=r"\bcasez\b"
    ),
    "full_case": Construct(
        fate="said",
        says="cases that are promised not to occur are don't-cares",
        text=r"\b(?:full_case|parallel_case)\b",
        comments=True,
    ),
    "translate_off": Construct(
        fate="said",
        says="what is between translate_off and translate_on is left out",
        text=r"\b(?:synopsys|synthesis)\s+(?:translate_off|off)\b",
        comments=True,
    ),
    "implicit net": Construct(fate="said", says="is declared by its use, of one bit"),
    "width of a port": Construct(fate="said", says="is cut or extended to the port's width"),
    "no driver": Construct(fate="said", says="is used and has no driver"),
    "other warning": Construct(fate="said"),
    "defparam": Construct(fate="kept"),
    "$readmemh": Construct(fate="kept"),
    "generate": Construct(fate="kept"),
    "set and reset": Construct(fate="kept"),
    "don't-care": Construct(fate="kept"),
}
"""Constructs by name; a warning of Yosys that is none of these is said in its words."""
_WARNINGS = {
    "implicit net": r"Identifier `\\?(?P<name>\S+)' is implicitly declared",
    "width of a port": r"Resizing cell port (?P<name>\S+) from \d+ bits to \d+ bits",
    "no driver": r"Wire (?P<name>.+) is used but has no driver",
    "several drivers": r"multiple conflicting drivers for (?P<name>.+):$",
}
_SAID_OTHERWISE = ("limited support for tri-state", "Latch inferred for signal")
_CELLS = {
    "$dlatch": "latch",
    "$adlatch": "latch",
    "$dlatchsr": "latch",
    "$sr": "latch",
    "$print": "$display",
    "$check": "$display",
}


@dataclass(frozen=True, order=True)
class Finding:
    """A construct, and where: a file and a line as the user knows them, or a name."""

    where: str
    construct: str
    text: str = ""

    def __str__(self) -> str:
        says = self.text or CONSTRUCTS[self.construct].says
        return f"{self.where}: {says}" if self.where else says


def in_text(name: str, text: str) -> Iterator[Finding]:
    """Yield what a text has that Yosys passes over; `name` is the file's."""
    parts: list[str] = []
    comments: list[str] = []
    at = 0
    for kind, start, end in spans(text, lines=True):
        blank = re.sub(r"[^\n]", " ", text[start:end])
        parts += [text[at:start], blank]
        comments += [text[at:start], text[start:end] if kind == "comment" else blank]
        at = end
    plain, whole = "".join(parts) + text[at:], "".join(comments) + text[at:]
    for construct, facts in CONSTRUCTS.items():
        if not facts.text:
            continue
        source = whole if facts.comments else plain
        lines = {source.count("\n", 0, one.start()) + 1 for one in re.finditer(facts.text, source)}
        if lines:
            yield Finding(f"{name}:{min(lines)}", construct)


def in_design(modules: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield what a design has, as Yosys wrote it as JSON; places are in its words."""
    for module in modules.values():
        for cell in module.get("cells", {}).values():
            line = _line(cell)
            if cell["type"] in _CELLS:
                yield Finding(line, _CELLS[cell["type"]])
            if any("z" in bits for bits in cell["connections"].values()):
                yield Finding(line, "high impedance")
        for net in module.get("netnames", {}).values():
            if "z" in net["bits"]:
                yield Finding(_line(net), "high impedance")
            if "init" in net["attributes"]:
                yield Finding(_line(net), "initial value")


def _line(what: Mapping[str, Any]) -> str:
    """Return the first file and line that an attribute names."""
    first = str(what.get("attributes", {}).get("src", "")).partition("|")[0]
    return re.sub(r":(\d+)\.\d+-.*", r":\1", first)


def in_log(log: str) -> Iterator[Finding]:
    """Yield what Yosys warned of; places are in its words."""
    for line in log.splitlines():
        match = re.match(r"(?:(?P<place>\S+:\d+): )?Warning: (?P<said>.*)", line)
        if match is None or any(text in match["said"] for text in _SAID_OTHERWISE):
            continue
        line_of_file = match["place"] or ""
        for construct, pattern in _WARNINGS.items():
            if known := re.match(pattern, match["said"]):
                where = f"{line_of_file}: " if line_of_file else ""
                yield Finding(f"{where}'{known['name'].replace(chr(92), '')}'", construct)
                break
        else:
            yield Finding(line_of_file, "other warning", match["said"])
