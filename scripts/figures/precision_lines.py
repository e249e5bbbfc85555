"""A network that a package ships, and many inputs for it whose classes are known."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from pydoc_data.topics import topics
from tempfile import TemporaryDirectory
from typing import Any

from carrysave.progress import Steps
from scripts.figures.precision_digits import CALIBRATION, Keep, RoundedNetwork, measured
from verif.support.networks import text_angle

__all__ = ["lines"]

_BATCH = 20
_WORDS = 4
"""Of a line."""
_SIZES = (36, 38, 40)
"""Of letters, in a picture that is 48 high: they fill it, as in the pictures that a search for text
cuts out, which the network is for. Of letters of 22 to 30 it misses a tenth, in floats too."""


def lines(count: int, keep: Keep, steps: Steps) -> list[dict[str, Any]]:
    """Return rows of lines of text, of which every other two are upside down."""
    with TemporaryDirectory() as folder:
        steps.step(f"draw {count:,} lines")
        # A third are for calibration, of which some are used.
        task = text_angle(Path(folder), islice(_texts(), count + count // 2), _SIZES)
        inputs, labels = task.inputs[:count], task.labels[:count]

        def network(keep: Keep) -> RoundedNetwork:
            return RoundedNetwork(
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
