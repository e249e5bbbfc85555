"""Functional coverage that every bench with streams has: how their transfers came about."""

import atexit
import json
import os
from collections import Counter
from itertools import product
from pathlib import Path

from carrysave.sim.parameters import BENCH_VARIABLE

__all__ = ["FILE", "count", "watch"]

FILE = "transfers.json"
"""In the folder of the run, as the other coverages are described."""
_TAKEN = ("at once", "after waiting")
_BEFORE = ("back to back", "after a pause")

_seen: dict[str, Counter[tuple[str, str]]] = {}


def watch(stream: str) -> None:
    """Have a stream in the coverage, whether anything is sent on it or not.

    It is written where the run is one of ours: elsewhere nobody reads it.
    """
    if not _seen and BENCH_VARIABLE in os.environ:
        atexit.register(_write)
    _seen.setdefault(stream, Counter())


def count(stream: str, offered: int, taken: int, last: int | None) -> None:
    """Count a transfer, by its cycles: offered, taken, and when the one before was taken."""
    pause = last is None or offered > last + 1
    _seen[stream][_TAKEN[taken > offered], _BEFORE[pause]] += 1


def _write() -> None:
    cross = {
        "points": ["stream", "taken", "offered"],
        "hits": [
            [name, *bins, hits] for name, bins_of in _seen.items() for bins, hits in bins_of.items()
        ],
        "holes": [
            [name, *bins]
            for name, bins_of in _seen.items()
            for bins in product(_TAKEN, _BEFORE)
            if bins not in bins_of
        ],
    }
    Path(FILE).write_text(json.dumps([{"title": "Transfers", "crosses": [cross]}]))
