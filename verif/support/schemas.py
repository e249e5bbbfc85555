"""JSON files that commands write, against their schemas in ``verif/schemas``."""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import fastjsonschema

__all__ = ["SCHEMAS", "check"]

_FOLDER = Path(__file__).parents[1] / "schemas"
SCHEMAS = tuple(sorted(path.stem for path in _FOLDER.glob("*.json")))


def check(name: str, source: Path | str) -> dict[str, Any]:
    """Return what a file, or what was printed, says.

    Parameters
    ----------
    name : of the schema. Readers rely on it: a key that is new, gone or of another type must be
        changed there, too.
    source : the file, or its text.

    Raises
    ------
    fastjsonschema.JsonSchemaValueException
        It is not what the schema says.
    """
    found: dict[str, Any] = json.loads(source.read_text() if isinstance(source, Path) else source)
    _validator(name)(found)
    return found


@cache
def _validator(name: str) -> Callable[[Any], Any]:
    schema = json.loads((_FOLDER / f"{name}.json").read_text())
    validate: Callable[[Any], Any] = fastjsonschema.compile(schema)
    return validate
