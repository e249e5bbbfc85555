"""Evidence that was kept: files of earlier runs, and the stages in them."""

import json
from pathlib import Path
from typing import Any

from carrysave import cache
from carrysave.errors import UsageError
from carrysave.signoff.part import OUTCOMES, Part
from carrysave.signoff.stage import PARTS, reached
from hw.catalog import CATALOG, Design

__all__ = ["keep", "known", "read"]

_KEYS = {
    "design": str,
    "module": str,
    "parameters": dict,
    "revision": str,
    "date": str,
    "parts": list,
}
"""What a file has at least."""


def keep(folder: Path, facts: dict[str, Any]) -> Path:
    """Write the evidence of a design into a folder, in place of what was there before."""
    return cache.write(folder / f"{facts['module']}.json", json.dumps(facts, indent=2) + "\n")


def read(path: Path) -> dict[str, Any]:
    """Read a file of evidence; its stages are computed anew, from its parts.

    Raises
    ------
    UsageError
        It is none; says what is wrong.
    """
    try:
        data = json.loads(path.read_text())
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise UsageError(f"{path} is no evidence: {error}") from None
    if not isinstance(data, dict):
        raise UsageError(f"{path} is no evidence: it must be an object")
    for key, kind in _KEYS.items():
        if not isinstance(data.get(key), kind):
            raise UsageError(f"{path} is no evidence: {key} must be of type {kind.__name__}")
    if data["design"] not in CATALOG:
        raise UsageError(f"{path} is no evidence: no design {data['design']!r}")
    parts: dict[str, Part] = {}
    for one in data["parts"]:
        name = one.get("name") if isinstance(one, dict) else None
        if name not in PARTS or one.get("outcome") not in OUTCOMES:
            raise UsageError(f"{path} is no evidence: parts must have a name and an outcome")
        parts[name] = Part(name, one["outcome"], str(one.get("why", "")), one.get("facts") or {})
    try:
        Design(data["design"], data["parameters"])
        data["stages"] = list(reached(parts))
    except (TypeError, KeyError, ValueError) as error:
        raise UsageError(f"{path} is no evidence: {error}") from None
    return data


def known(folder: Path) -> list[dict[str, Any]]:
    """Return ``design module stages revision date`` of all evidence in a folder."""
    keys = ("design", "module", "stages", "revision", "date")
    return [{key: data[key] for key in keys} for data in map(read, sorted(folder.glob("*.json")))]
