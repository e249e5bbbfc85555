"""Images of operands: sections, a manifest that says where they are, and digests."""

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from golden.lut.image import sealed

__all__ = ["check_digest", "part", "relative_error", "sectioned"]

_SECTION = 64
"""Bytes whose multiple a section begins at."""


def sectioned(parts: Mapping[str, bytes], facts: Mapping[str, Any]) -> tuple[bytes, dict[str, Any]]:
    """Put sections one after the other; return the image, and its manifest with facts."""
    image, sections = b"", dict[str, dict[str, int]]()
    for name, data in parts.items():
        image += bytes(-len(image) % _SECTION)
        sections[name] = {"offset": len(image), "bytes": len(data)}
        image += data
    digest = hashlib.sha256(image).hexdigest()
    return image, sealed({**facts, "sections": sections, "bytes": len(image), "sha256": digest})


def check_digest(image: bytes, manifest: Mapping[str, Any]) -> None:
    """Refuse an image that is not its manifest's; ValueError."""
    if hashlib.sha256(image).hexdigest() != manifest["sha256"]:
        raise ValueError("sha256, which is another than the image's")


def part(image: bytes, manifest: Mapping[str, Any], name: str) -> bytes:
    """Return the bytes of a section."""
    section = manifest["sections"][name]
    return image[section["offset"] : section["offset"] + section["bytes"]]


def relative_error(made: np.ndarray, values: np.ndarray) -> float:
    """Return the root of the mean square of what is wrong, of that of the weights."""
    wrong, whole = (float(np.mean(np.square(one))) for one in (made - values, values))
    return float(np.sqrt(wrong / max(whole, 1e-300)))
