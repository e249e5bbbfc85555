"""A network that a package ships, and many inputs for it whose classes are known."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from pydoc_data.topics import topics
from tempfile import TemporaryDirectory
from typing import Any

from carrysave.data.networks import text_angle
from carrysave.networks.precision.options import Pair
from carrysave.progress import Steps
from scripts.precision_digits import CALIBRATION, Keep, RoundedNetwork, measured

__all__ = ["lines"]

_BATCH = 20
_WORDS = 4
"""Of a line."""
_TITLES = ("all int8", "all e4m3", "all int4", "mix, 60% of int8's bytes")
"""Configurations: each takes a minute of a core."""


class _Network(RoundedNetwork):
    """The network in fewer configurations than those of digits."""

    def configurations(self) -> dict[str, list[Pair]]:
        """Name the choices that are compared."""
        found = super().configurations()
        return {title: found[title] for title in _TITLES}


def lines(count: int, keep: Keep, steps: Steps) -> list[dict[str, Any]]:
    """Return rows of lines of text, of which every other two are upside down."""
    with TemporaryDirectory() as folder:
        steps.step(f"draw {count:,} lines")
        # A third are for calibration, of which some are used.
        task = text_angle(Path(folder), islice(_texts(), count + count // 2))
        inputs, labels = task.inputs[:count], task.labels[:count]

        def network(keep: Keep) -> _Network:
            return _Network(
                task.model, task.calibration[:CALIBRATION], inputs, labels, _BATCH, keep, steps
            )

        title = f"{len(labels):,} lines of text"
        return measured("text_angle, 54 layers", title, [network], len(labels), keep, steps)


def _texts() -> Iterator[str]:
    """Cut the text of Python's own help into lines."""
    words = " ".join(topics[name] for name in sorted(topics)).split()
    words = [word for word in words if word.isascii() and word.isalnum()]
    for start in range(0, len(words) - _WORDS, _WORDS):
        yield " ".join(words[start : start + _WORDS])
