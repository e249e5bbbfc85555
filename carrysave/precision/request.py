"""What is asked for when formats of layers are chosen."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from carrysave.asic.liberty.cells import Library
from carrysave.compiler.front.options import ReadOptions
from carrysave.compiler.front.samples import Samples
from carrysave.compiler.target.target import Target
from carrysave.errors import ArgumentError, check_choice
from carrysave.precision.options import BUDGETS, Options, Pair
from hw.catalog import Design

__all__ = ["PAIRS", "PrecisionRequest"]

PAIRS = ("same", "all")
"""Both operands in the same format, or in any pair."""
_EPOCHS = 1000
"""Most of fine-tuning."""


@dataclass(frozen=True, kw_only=True)
class PrecisionRequest:
    """A request for a choice of formats.

    Parameters
    ----------
    model, calibration : files.
    data, labels : files for the evaluation; None: the calibration inputs.
    design : a co-processor around an engine of several formats.
    formats : names; empty: all of the engine's.
    pairs : one of :data:`PAIRS`.
    budgets : such as ``bytes=50%``, ``bytes=int8``, ``cycles=20000``, ``energy=1.5``; none only
        with `split_k`.
    split_k : shares of K that can have the widest format of integers, and the rest the narrowest
        one; without budgets, each layer that can be split is, by the first share.
    against : names of formats to compare with, each for all layers.
    fine_tune : epochs in which weights are fitted to the chosen formats, on the calibration inputs.
    batch : batch size; None: the model's, or 8.
    library : for energy; None: none.
    reading : how the model is read.
    """

    model: Path
    calibration: Path
    data: Path | None
    labels: Path | None
    design: Design
    formats: Sequence[str]
    pairs: str
    budgets: Sequence[str]
    batch: int | None
    library: "str | Library | None"
    against: Sequence[str] = ()
    fine_tune: int = 0
    split_k: Sequence[str] = ()
    reading: ReadOptions = field(default_factory=ReadOptions)

    def __post_init__(self) -> None:
        """Check the options."""
        check_choice("pairs", self.pairs, PAIRS)
        if self.batch is not None and self.batch < 1:
            raise ArgumentError("{batch} must be 1 or more, not {value}", value=self.batch)
        if not 0 <= self.fine_tune <= _EPOCHS:
            raise ArgumentError(
                "{fine_tune} must be 0..{epochs} epochs, not {value}",
                epochs=_EPOCHS,
                value=self.fine_tune,
            )
        if not self.budgets and not self.split_k:
            raise ArgumentError("{budget} must be given, such as bytes=50%")
        if self.split_k and self.fine_tune:
            raise ArgumentError(
                "{fine_tune} must be 0 with {split_k}, not {value}", value=self.fine_tune
            )
        kinds = [self._budget(text)[0] for text in self.budgets]
        if len(set(kinds)) < len(kinds):
            raise ArgumentError("{budget} must be given once for each kind")
        if "energy" in kinds and self.library is None:
            raise ArgumentError("{energy} must be osu018 or a Liberty file for a budget of energy")

    def check_samples(self, samples: Samples) -> None:
        """Refuse to learn from samples that are no rows, or that follow each other."""
        if self.fine_tune and (samples.states or any(samples.inputs.values())):
            raise ArgumentError(
                "{fine_tune} must be 0 with {states}, or samples that are not along the first axis:"
                " it learns from samples in any order, along that axis"
            )

    def _budget(self, text: str) -> tuple[str, float | str, bool]:
        """Parse a budget: its kind, its number or format, and whether a number is relative."""
        kind, _, number = text.partition("=")
        relative = number.endswith("%")
        if kind in BUDGETS and number in Target(self.design, golden=True).formats:
            return kind, number, False
        try:
            value = float(number.removesuffix("%"))
        except ValueError:
            value = -1.0
        if kind not in BUDGETS or not 0 <= value < float("inf"):
            legal = ", ".join(f"{one}=NUMBER" for one in BUDGETS)
            raise ArgumentError(
                "{budget} must be one of {legal}, NUMBER%, or a format of the engine, not {text!r}",
                legal=legal,
                text=text,
            )
        return kind, value / 100 if relative else value, relative

    @property
    def others(self) -> list[str]:
        """Formats that are not chosen from, but compared with, or budgets."""
        numbers = [self._budget(text)[1] for text in self.budgets]
        return [*self.against, *(one for one in numbers if isinstance(one, str))]

    def limits(self, options: Options, pairs: Sequence[Pair]) -> dict[str, float]:
        """Return the limit of each kind; numbers in % are of the costliest of these pairs.

        Raises
        ------
        UsageError
            A format that a layer cannot have.
        """
        limits = {}
        for text in self.budgets:
            kind, value, relative = self._budget(text)
            if isinstance(value, str):
                if not options.has((value, value)):
                    raise ArgumentError(
                        "{budget} must be a format that all layers take, not {text}", text=text
                    )
                limits[kind] = options.cost(options.alike((value, value)), kind)
            else:
                limits[kind] = value * options.most(pairs, kind) if relative else value
        return limits
