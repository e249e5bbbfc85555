"""Training as it is asked for, checked before anything runs."""

from collections.abc import Sequence
from dataclasses import dataclass

from carrysave.errors import ArgumentError, check_choice
from carrysave.keywords import Options
from carrysave.training.recipes import RECIPES

__all__ = ["DATA", "NEAREST", "SIMULATIONS", "STOCHASTIC", "TrainOptions"]

DATA = ("digits",)
"""Sets of samples: handwritten digits of 8 x 8 pixels, see :mod:`carrysave.data.digits`."""
STOCHASTIC, NEAREST = "stochastic", "nearest"
_ROUNDINGS = (STOCHASTIC, NEAREST)
SIMULATIONS = ("step", "none")
"""Simulate all jobs of the first step of each format, or none."""
_RANGES = {
    "steps": (1, 100_000),
    "seed": (0, 1 << 32),
    "seeds": (1, 100),
    "batch": (1, 1024),
    "hidden": (1, 1024),
    "random_width": (4, 16),
}
_MOST_RATE = 10


@dataclass(frozen=True, kw_only=True, repr=False)
class TrainOptions(Options):
    """How a network learns.

    Parameters
    ----------
    format : names of recipes, commas between them.
    rounding : of gradients and of updates, stochastic or nearest, or both, a comma between them.
    steps : each of a batch.
    seed, seeds : the first seed, and how many: of weights, of the order of samples, of random bits.
    batch : samples of a step.
    hidden : outputs of the hidden layer.
    rate, momentum : of updates; the rate falls evenly to 0.
    random_width : bits of each random number.
    simulate : one of :data:`SIMULATIONS`.
    """

    format: str = "nvfp4"
    rounding: str = STOCHASTIC
    steps: int = 200
    seed: int = 1
    seeds: int = 1
    batch: int = 64
    hidden: int = 64
    rate: float = 0.1
    momentum: float = 0.9
    random_width: int = 8
    simulate: str = "none"

    @property
    def formats(self) -> list[str]:
        """Names of recipes."""
        return self.format.split(",")

    @property
    def roundings(self) -> list[str]:
        """Kinds of rounding."""
        return self.rounding.split(",")

    @property
    def every_seed(self) -> range:
        """All seeds."""
        return range(self.seed, self.seed + self.seeds)

    def check(self) -> None:
        """Refuse what is out of range, or said twice.

        Raises
        ------
        UsageError
        """
        _check_each("format", self.formats, list(RECIPES))
        _check_each("rounding", self.roundings, _ROUNDINGS)
        check_choice("simulate", self.simulate, SIMULATIONS)
        for name, (low, high) in _RANGES.items():
            _check_range(name, getattr(self, name), low, high)
        for name, high in (("rate", _MOST_RATE), ("momentum", 1)):
            value = getattr(self, name)
            if not 0 <= value < high:
                text = f"{{{name}}} must be 0 or more, and less than {high}, not {{_value:g}}"
                raise ArgumentError(text, _value=value)
        for one in self.formats:
            if most := RECIPES[one].most:
                for name in ("batch", "hidden"):
                    _check_range(name, getattr(self, name), 1, most, f" in {one}")


def _check_each(name: str, values: Sequence[str], legal: Sequence[str]) -> None:
    for one in values:
        check_choice(name, one, legal)
    if len(set(values)) < len(values):
        raise ArgumentError(f"{{{name}}} must have each name once, not {{_value}}", _value=values)


def _check_range(name: str, value: int, low: int, high: int, where: str = "") -> None:
    if not low <= value <= high:
        text = f"{{{name}}} must be {low}..{high}{where}, not {{_value}}"
        raise ArgumentError(text, _value=value)
