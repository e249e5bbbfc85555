"""A text encoder with weights and activations in formats."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from carrysave.data.sentences import CALIBRATION, EVALUATION, sayings, unpacked
from carrysave.networks.encoder.evaluate import rank_correlation
from carrysave.networks.encoder.floats import encode, multiplied
from carrysave.networks.encoder.tokens import read_tokens
from carrysave.networks.encoder.weights import Dense, read_encoder
from carrysave.networks.precision.intervals import Interval
from carrysave.networks.precision.options import Options, Pair
from carrysave.networks.precision.rounded import Rounded, Unit
from carrysave.networks.precision.sensitivity import noise
from carrysave.progress import Steps
from golden.formats.names import parse

__all__ = ["Figure", "Text", "encoder"]

PARTS = 32
"""Groups of sentences that are left out in turn, for the interval of a rank correlation."""


@dataclass(frozen=True)
class Figure:
    """A figure, and its change from floats, each with an interval."""

    value: float
    interval: Interval
    change: float | None
    change_interval: Interval | None


@dataclass(frozen=True)
class Text:
    """A model of text.

    Members
    -------
    inputs : what it is measured with.
    groups : names of layers that have one pair of formats.
    rounded : its layers.
    run : outputs on a few calibration inputs, with a pair for each group; None: in floats.
    judge : the figure with a pair for each group; None: in floats.
    """

    inputs: str
    groups: Sequence[Sequence[str]]
    rounded: Rounded
    run: Callable[[Sequence[Pair] | None], np.ndarray]
    judge: Callable[[Sequence[Pair] | None], Figure]

    def options(self, pairs: Sequence[Pair], costed: Sequence[Pair], steps: Steps) -> Options:
        """Round one group at a time to each pair; `costed` are not chosen from, but have bytes."""
        floats = self.run(None)
        table: list[dict[Pair, Unit]] = []
        for number, group in enumerate(self.groups):
            steps.step(f"sensitivity of {group[0]}, {number + 1} of {len(self.groups)}")
            own = {}
            for pair in dict.fromkeys([*pairs, *costed]):
                bytes_ = sum(self.rounded.bytes(name, pair[1]) for name in group)
                apart = 0.0
                if pair in pairs:
                    only: list[Any] = [None] * len(self.groups)
                    only[number] = pair
                    apart = noise([self.run(only)], [floats])
                own[pair] = Unit(noise=apart, bytes=bytes_)
            table.append(own)
        return Options(table)


def encoder(count: int, few: int, names: Sequence[str]) -> Text:
    """all-MiniLM-L6-v2: the rank correlation of sentences' cosines with those in floats."""
    with TemporaryDirectory() as folder:
        path = unpacked(Path(folder))
        model = read_encoder(path)
        tokens = [
            read_tokens(path, sayings(files, most), 512)[0]
            for files, most in ((EVALUATION, count), (CALIBRATION, few))
        ]
    sentences, calibration = tokens
    known: Any = {name: parse(name) for name in names}
    blocks = {f"{number}.{part}": getattr(block, part) for number, block in enumerate(model.blocks)
              for part in ("qkv", "out", "up", "down")}  # fmt: skip
    rows: dict[str, np.ndarray] = {}

    def keep(name: str, layer: Dense, x: np.ndarray) -> np.ndarray:
        rows[name] = x
        return multiplied(name, layer, x)

    encode(model, calibration, multiply=keep)
    rounded = Rounded(
        {name: layer.weights.astype(np.float32) for name, layer in blocks.items()}, rows, known
    )

    def vectors(given: list[np.ndarray], picks: Sequence[Pair] | None) -> np.ndarray:
        given_pairs: Sequence[Pair | None] = picks or [None] * len(blocks)
        own = dict(zip(blocks, given_pairs, strict=True))

        def multiply(name: str, layer: Dense, x: np.ndarray) -> np.ndarray:
            pair = own[name]
            if pair is None:
                return multiplied(name, layer, x)
            return rounded.product(name, pair, x) + layer.bias

        return encode(model, given, multiply=multiply)

    wanted = vectors(sentences, None)

    def judge(picks: Sequence[Pair] | None) -> Figure:
        return ranked(wanted if picks is None else vectors(sentences, picks), wanted)

    return Text(
        f"{count} sentences", [[name] for name in blocks], rounded,
        lambda picks: vectors(calibration[:8], picks), judge,
    )  # fmt: skip


def ranked(found: np.ndarray, wanted: np.ndarray) -> Figure:
    """Return the rank correlation, and its interval by leaving out groups in turn (jackknife)."""
    value = rank_correlation(found, wanted) or 0.0
    groups = np.arange(len(found)) * PARTS // len(found)
    left = np.array([rank_correlation(found[groups != one], wanted[groups != one])
                     for one in range(PARTS)])  # fmt: skip
    error = float(((PARTS - 1) / PARTS * ((left - left.mean()) ** 2).sum()) ** 0.5)
    return Figure(value, (value - 1.96 * error, min(value + 1.96 * error, 1.0)), None, None)
