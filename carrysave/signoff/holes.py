"""Holes of coverage: what no run reached, what never can be, and what is argued for."""

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from carrysave.errors import UsageError
from carrysave.signoff.part import FAILED, PASSED, Part
from carrysave.sim.code_coverage import KINDS, Point
from hw.catalog import CATALOG, Design
from hw.emit.user_files import FileError, parsing, read_text
from hw.unknown import nearest

__all__ = ["ARGUMENTS", "Argument", "coverage_part", "named", "read_arguments"]

ARGUMENTS = Path(__file__).with_name("arguments.toml")
"""Arguments for the holes of the catalogue's designs."""
_LONGEST = 1 << 20  # bytes
_KEYS = {"design", "parameters", "kind", "at", "reason"}
_NEEDED = {"design", "kind", "at", "reason"}


@dataclass(frozen=True)
class Argument:
    """Why holes of a design need not be filled.

    Members
    -------
    design, parameters : of which it is said: those that are not by default, all of them.
    kind : of :data:`carrysave.sim.code_coverage.KINDS`.
    at : regular expression of names of holes, see :func:`named`, as a whole.
    reason : in words.
    """

    design: str
    kind: str
    at: str
    reason: str
    parameters: Mapping[str, Any]

    def of(self, design: Design) -> bool:
        """Whether it is of this design, with these parameters."""
        return self.design == design.name and dict(self.parameters) == dict(design.changed)


def read_arguments(path: Path) -> list[Argument]:
    """Read arguments.

    Raises
    ------
    UsageError
        The file is none of arguments; says which argument, and what is wrong.
    """
    try:
        text = read_text(path, _LONGEST)
        with parsing(path):
            data = tomllib.loads(text)
    except FileNotFoundError as error:
        raise UsageError(f"--arguments {path}: {error.strerror}") from None
    except FileError as error:
        raise UsageError(f"--arguments {error}") from None
    listed = data.get("argument", [])
    if set(data) - {"argument"} or not isinstance(listed, list):
        raise UsageError(f"--arguments {path}: must have [[argument]] tables, and nothing else")
    return [_argument(one, f"--arguments {path}: argument {n}") for n, one in enumerate(listed, 1)]


def _argument(data: Any, where: str) -> Argument:
    """Check one argument."""
    keys = set(data) if isinstance(data, dict) else set()
    if not keys >= _NEEDED or keys - _KEYS:
        raise UsageError(f"{where}: keys must be {', '.join(sorted(_KEYS))}")
    if not all(isinstance(data[key], str) and data[key].strip() for key in _NEEDED):
        raise UsageError(f"{where}: {', '.join(sorted(_NEEDED))} must be texts, none of them empty")
    if data["design"] not in CATALOG:
        raise UsageError(f"{where}: {nearest(data['design'], CATALOG, 'design')}")
    if data["kind"] not in KINDS:
        raise UsageError(f"{where}: kind must be {', '.join(KINDS)}, not {data['kind']!r}")
    try:
        re.compile(data["at"])
    except re.error as error:
        raise UsageError(f"{where}: at is no regular expression: {error}") from None
    parameters = data.get("parameters", {})
    if not isinstance(parameters, dict):
        raise UsageError(f"{where}: parameters must be a table, not {parameters!r}")
    return Argument(data["design"], data["kind"], data["at"], data["reason"], parameters)


def named(point: Point) -> str:
    """Name a point: ``opt1.pe.o[43]:0->1``, or ``opt1 line 134.10 if``."""
    kind, instance, _, what = point
    return f"{instance}.{what}" if kind == "toggle" else f"{instance} line {what}"


def coverage_part(
    design: Design,
    hits: Mapping[Point, int],
    constants: Mapping[str, list[str]],
    arguments: Iterable[Argument],
) -> Part:
    """Count what was reached, and list holes.

    Bits that the netlist ties to a constant never toggle: they are not counted, but named.

    Parameters
    ----------
    hits : of each point, of all runs together.
    constants : of each instance, the bits that are tied: ``{"opt1.pe": ["o[43]"]}``.
    arguments : all that there are.

    Raises
    ------
    UsageError
        An argument is of this design, and no hole is there for it.
    """
    fixed = {instance: set(bits) for instance, bits in constants.items()}
    counted = {point: count for point, count in hits.items() if not _tied(point, fixed)}
    kinds = {
        kind: {
            "hit": sum(count > 0 for point, count in counted.items() if point[0] == kind),
            "total": sum(point[0] == kind for point in counted),
        }
        for kind in KINDS
    }
    holes = [(point[0], named(point), point[2]) for point, n in counted.items() if not n]
    of_design = [one for one in arguments if one.of(design)]
    rows = []
    used = set()
    for kind, name, line in holes:
        reasons = [one for one in of_design if one.kind == kind and re.fullmatch(one.at, name)]
        used |= {(one.kind, one.at) for one in reasons}
        argued = reasons[0].reason if reasons else ""
        rows.append({"kind": kind, "at": name, "line": line, "argued": argued})
    for one in of_design:
        if (one.kind, one.at) not in used:
            raise UsageError(f"argument for {design.name}, {one.kind} {one.at!r}: no hole is there")
    left = sum(not row["argued"] for row in rows)
    shares = [f"{one['hit']} of {one['total']} {kind}" for kind, one in kinds.items()]
    facts = {
        "kinds": kinds,
        "constant": len(hits) - len(counted),
        "holes": rows,
        "open": left,
    }
    says = f"{', '.join(shares)}; {left} holes open, {len(rows) - left} argued"
    return Part("coverage", FAILED if left else PASSED, says, facts)


def _tied(point: Point, fixed: Mapping[str, set[str]]) -> bool:
    """Whether the bit of a toggle is constant; in a pattern of instances, in all of them."""
    kind, pattern, _, what = point
    if kind != "toggle":
        return False
    bit = what.rpartition(":")[0]
    instances = [one for one in fixed if one == pattern or fnmatchcase(one, pattern)]
    return bool(instances) and all(bit in fixed[one] for one in instances)
