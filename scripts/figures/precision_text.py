"""Models of text with weights and activations in formats: what is the same for all."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from carrysave.precision.intervals import Interval
from carrysave.precision.options import Options, Pair
from carrysave.precision.sensitivity import noise
from carrysave.progress import Steps
from scripts.language.rounded_products import GroupOption, Rounded

__all__ = ["Figure", "Text"]


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
        table: list[dict[Pair, GroupOption]] = []
        for number, group in enumerate(self.groups):
            steps.step(f"sensitivity of {group[0]}, {number + 1} of {len(self.groups)}")
            of_layer = {}
            for pair in dict.fromkeys([*pairs, *costed]):
                bytes_ = sum(self.rounded.bytes(name, pair[1]) for name in group)
                apart = np.inf
                if pair in pairs:
                    only: list[Any] = [None] * len(self.groups)
                    only[number] = pair
                    apart = noise([self.run(only)], [floats])
                of_layer[pair] = GroupOption(noise=apart, bytes=bytes_)
            table.append(of_layer)
        return Options(table)
