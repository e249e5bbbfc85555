"""The cache of carrysave's computed results."""

import contextlib
import hashlib
import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

__all__ = ["digest", "folder", "remembered", "write"]


def folder() -> Path:
    """Return the cache directory: ``$CARRYSAVE_CACHE``, else ``carrysave`` in the XDG cache."""
    if own := os.environ.get("CARRYSAVE_CACHE"):
        return Path(own).expanduser().resolve()
    xdg = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(xdg).expanduser().resolve() / "carrysave"


def digest(parts: Iterable[str | bytes]) -> str:
    """Return the SHA-256 of the parts, in hexadecimal; ("ab", "c") differs from ("a", "bc")."""
    total = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        total.update(len(data).to_bytes(8, "little"))
        total.update(data)
    return total.hexdigest()


def write(path: Path, text: str | bytes) -> Path:
    """Write a file atomically: readers see the old contents or the new, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{os.urandom(4).hex()}")
    if isinstance(text, str):
        temporary.write_text(text)
    else:
        temporary.write_bytes(text)
    temporary.replace(path)
    return path


def remembered(name: str, parts: Iterable[str | bytes], make: Callable[[], Any]) -> Any:
    """Return plain data that was kept for the same `parts`, or make it and keep it as JSON."""
    path = folder() / name / f"{digest(parts)[:24]}.json"
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError):
        made = make()
    # A cache that cannot be written is only slower.
    with contextlib.suppress(OSError):
        write(path, json.dumps(made))
    return made
