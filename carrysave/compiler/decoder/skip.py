"""What a feed-forward leaves out: activations that are small, by layer, as a text has them.

CATS (Lee et al., 2024) and TEAL (Liu et al., 2024) choose such thresholds; here rows of gate and up
go by the magnitude of their inputs, and rows of down by that of what is between.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from pydoc_data.topics import topics

import numpy as np

from carrysave.compiler.decoder.recurrent import decoder_of
from carrysave.compiler.decoder.units import GOLDEN
from carrysave.compiler.front.decoder import Model, Skip
from carrysave.compiler.front.text import Characters
from carrysave.compiler.front.text_tokens import Vocabulary
from carrysave.errors import ArgumentError
from hw.emit.user_files import FileError, read_text

__all__ = ["Skipped", "skipping", "with_skips"]

TOKENS = 512
"""Of a calibration text, at most."""
_SIDES = 2
"""Of a feed-forward: inputs, and what is hidden."""


@dataclass(frozen=True, kw_only=True)
class Skipped:
    """What a calibration found.

    Members
    -------
    share : that was asked for, of inputs of a matrix.
    tokens : of the text.
    """

    share: float
    tokens: int


def skipping(model: Model, tokens: np.ndarray, share: float) -> Model:
    """Return a model that skips about a share of the inputs of each matrix of a feed-forward.

    Parameters
    ----------
    model : that skips nothing.
    tokens : of a text, by whose magnitudes thresholds are chosen, a layer's by themselves.
    share : 0 to 1.
    """
    seen: list[list[np.ndarray]] = [[] for _ in range(_SIDES * len(model.layers))]

    def watch(x: np.ndarray, number: float) -> np.ndarray:
        """Take magnitudes; thresholds are numbers of lists, while nothing is skipped."""
        seen[int(number)].append(np.abs(x).ravel())
        return x

    numbered = [
        replace(layer, skip=Skip(inputs=_SIDES * number, hidden=_SIDES * number + 1))
        for number, layer in enumerate(model.layers)
    ]
    units = replace(GOLDEN, thresholded=watch)
    watched = replace(model, layers=numbered)
    decoder_of(watched, cache=len(tokens), bits=None, units=units).step(tokens)
    levels = [_level(np.concatenate(one), share) if one else 0.0 for one in seen]
    layers = [
        replace(layer, skip=Skip(inputs=inputs, hidden=hidden))
        for layer, inputs, hidden in zip(
            model.layers, levels[::_SIDES], levels[1::_SIDES], strict=True
        )
    ]
    return replace(model, layers=layers)


def _level(magnitudes: np.ndarray, share: float) -> float:
    """Return the magnitude, one of those given, that a share of them are not above."""
    count = round(share * len(magnitudes))
    if not count:
        # None is below: what is 0 counts as it is.
        return 0.0
    return float(np.partition(magnitudes, count - 1)[count - 1])


def with_skips(
    model: Model, words: Vocabulary | Characters, share: float, text: Path | None
) -> tuple[Model, Skipped | None]:
    """Return a model that skips a share by a text, and what was found; 0: it as it is.

    Parameters
    ----------
    text : file, UTF-8; None: Python's own help.

    Raises
    ------
    FileError
        The text has no tokens, or some of none of the model's characters.
    """
    if not share:
        return model, None
    given = "\n".join(topics[name] for name in sorted(topics)) if text is None else read_text(text)
    most = min(TOKENS, model.shape.context)
    try:
        tokens = words.tokens(given[: 16 * most])[:most]
    except ArgumentError as error:
        raise FileError(text or Path("pydoc_data"), str(error).removeprefix("prompt ")) from None
    if not len(tokens):
        raise FileError(text or Path("pydoc_data"), "must be of tokens to calibrate by, not 0")
    return skipping(model, tokens, share), Skipped(share=share, tokens=len(tokens))
