"""The sources that pages are made of."""

import functools
from pathlib import Path

import hw
from carrysave import cache

__all__ = ["ROOT", "digest_of_sources"]

ROOT = Path(hw.__file__).parents[1]
"""Folder of ``hw`` and ``golden``: the checkout, or the installed package."""


@functools.cache
def digest_of_sources(*folders: str) -> str:
    """Return the digest of all Python files of some folders."""
    paths = sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))
    return cache.digest(part for path in paths for part in (str(path), path.read_bytes()))
