"""Flags of all commands that read a network: where its samples are, constants, states."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from carrysave.errors import UsageError

if TYPE_CHECKING:
    from carrysave.compiler.front.options import ReadOptions

__all__ = ["BY_THE_MODEL", "OF_THE_MODEL", "InputSizes", "Reading"]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Reading:
    """How a network is read."""

    batch_axis: Annotated[
        str | None,
        Parameter(
            help="Name of the size that is the number of samples, wherever it stands."
            " [default: that of the first axis of the first input]"
        ),
    ] = None
    constant: Annotated[
        list[str] | None,
        Parameter(
            negative="",
            help="An input that is a part of the model, `NAME=FILE.npy`; repeatable.",
        ),
    ] = None
    state: Annotated[
        list[str] | None,
        Parameter(
            negative="",
            help="An output that is an input of the next sample, `OUT=IN`; repeatable.",
        ),
    ] = None

    @property
    def options(self) -> "ReadOptions":
        """What the front end takes.

        Raises
        ------
        UsageError
            A text without two names, or a name that comes twice.
        """
        # Commands that need no network have these flags, too.
        from carrysave.compiler.front.options import ReadOptions

        return ReadOptions(
            batch_axis=self.batch_axis,
            constants={key: Path(file) for key, file in _pairs("--constant", self.constant)},
            states=dict(_pairs("--state", self.state)),
        )


BY_THE_MODEL = Reading()
"""What its file says."""


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class InputSizes:
    """What sizes a network is compiled for."""

    input_: Annotated[
        Path | None,
        Parameter(
            name="--input",
            help="Inputs, .npy or .npz, whose sizes the program has. [default: the model's]",
        ),
    ] = None
    batch: Annotated[int, Parameter(help="Samples of a run, if the model leaves it open.")] = 1


OF_THE_MODEL = InputSizes()
"""Those of the model, and one input."""


def _pairs(option: str, texts: list[str] | None) -> list[tuple[str, str]]:
    """Take two names at an equals sign."""
    made: list[tuple[str, str]] = []
    for text in texts or ():
        key, equals, value = text.partition("=")
        if not (key and equals and value):
            what = "OUT=IN" if option == "--state" else "NAME=FILE.npy"
            raise UsageError(f"{option} must be {what}, not {text!r}")
        if key in dict(made):
            raise UsageError(f"{option} {key} must be given once, not twice")
        made.append((key, value))
    return made
