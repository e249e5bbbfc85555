"""Perplexity of a text by golden's units: jobs, one for each window and setting."""

import functools
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

import golden
from carrysave import compiler, jobs, weights
from carrysave.compiler.decoder.perplexity import window_losses
from carrysave.compiler.decoder.recurrent import decoder_of
from carrysave.compiler.decoder.units import GOLDEN, Units
from carrysave.compiler.front.decoder import Model
from carrysave.compiler.front.gguf import load
from carrysave.weights.gguf import read_gguf
from scripts import language
from scripts.language.float_units import FLOATS
from scripts.language.rounded import matrices, rounded_model
from scripts.language.rounded_products import Rounded

__all__ = ["SETTINGS", "loss_job"]

SETTINGS: dict[str, tuple[Units, int, dict[str, str]]] = {
    "floats": (FLOATS, 8, {}),
    **{
        text: (replace(FLOATS, **{name: getattr(GOLDEN, name)}), bits, {})
        for text, name, bits in (
            ("activations of 8 bits", "aligned", 8),
            ("RMS norm", "normed", 8),
            ("SiLU", "gated", 8),
            ("softmax", "probabilities", 8),
            ("cache of 8 bits", "cached", 8),
            ("cache of 4 bits", "cached", 4),
        )
    },
    "all, cache of 8 bits": (GOLDEN, 8, {}),
    "all, attention in one pass": (GOLDEN, 8, {"attention": "one-pass"}),
    "all, cache of 4 bits": (GOLDEN, 4, {}),
    "all, keys of 4 bits by channels": (GOLDEN, 4, {"keys": "channels"}),
}
"""What is computed by golden's units, all else in floats; the bits of the cache; and how."""


def loss_job(path: Path, setting: str, window: Sequence[int], label: str) -> jobs.Job:
    """Return the job that is :func:`loss` of a window of tokens, for a model in a GGUF file."""
    return jobs.Job(
        function=loss,
        arguments={"path": jobs.File(path), "setting": setting, "window": list(window)},
        # Of carrysave's source that of hardware is none of it.
        content=[jobs.source_digest(golden, compiler, weights, language)],
        tools=("numpy",),
        label=label,
    )


def loss(path: Path, setting: str, window: list[int]) -> float:
    """Return the sum of -log2 of what the model gave each token of a window but the first."""
    units, bits, ways = SETTINGS[setting]
    tokens = np.array(window)
    # Activations in floats take weights in floats: sums of groups need not be apart.
    model = _in_floats(path) if units.aligned is FLOATS.aligned else _model(path)
    decoder = decoder_of(model, cache=len(tokens), bits=bits, units=units, **ways)
    return float(window_losses(decoder, tokens).sum())


@functools.cache
def _model(path: Path) -> Model:
    """Read a model, once in a process."""
    return load(read_gguf(path))


@functools.cache
def _in_floats(path: Path) -> Model:
    """Return a model with the values of its weights, once in a process."""
    weights = matrices(_model(path))
    return rounded_model(_model(path), Rounded(weights, {}, {}), dict.fromkeys(weights))
