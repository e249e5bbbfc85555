"""A language model in formats: as in floats where none is rounded, nearer with more bits."""

from pathlib import Path
from typing import Any

import numpy as np

from carrysave.compiler.decoder.attention import Decoder
from carrysave.compiler.decoder.perplexity import losses
from carrysave.compiler.front.decoder import Model
from carrysave.compiler.front.gguf import load
from carrysave.weights.gguf import read_gguf
from golden.formats.names import parse
from scripts.language.float_units import FLOATS
from scripts.language.rounded import matrices, rounded_model
from scripts.language.rounded_products import Rounded
from verif.language.test_chat import write

FORMATS = ("int4", "int8", "posit16e1")


def logits(model: Model, tokens: np.ndarray) -> np.ndarray:
    return Decoder(model, cache=len(tokens), units=FLOATS).step(tokens)


def test_rounded_model_is_near_its_floats_by_its_bits(tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    write(path)
    model = load(read_gguf(path))
    tokens = np.array([1, 4, 2, 5, 3, 1, 2, 4])
    formats: Any = {name: parse(name) for name in FORMATS}
    weights = matrices(model)
    rows: dict[str, np.ndarray] = {}
    rounded = Rounded(weights, rows, formats)
    floats = logits(model, tokens)

    made = logits(rounded_model(model, rounded, dict.fromkeys(weights), rows), tokens)
    assert np.abs(made - floats).max() <= 1e-5 * np.abs(floats).max()
    assert {name: rows[name].shape[1] for name in weights} == {
        name: len(one) for name, one in weights.items()
    }

    def apart(pairs: dict[str, Any]) -> float:
        found = logits(rounded_model(model, rounded, pairs), tokens)
        return float(((found - floats) ** 2).sum() / (floats**2).sum())

    four, eight, sixteen = (apart(dict.fromkeys(weights, (name, name))) for name in FORMATS)
    assert sixteen < eight / 10 < four / 100
    assert sixteen > 0
    assert four < 1
    # One matrix alone costs less than all, and more than none.
    assert 0 < apart({**dict.fromkeys(weights), "head": ("int4", "int4")}) < four


def test_losses_are_bits() -> None:
    flat = np.zeros((3, 8), np.float32)
    assert np.allclose(losses(flat, np.array([0, 3, 7])), 3)
    flat[1, 3] = np.log(8)  # of 15 parts, 8
    assert np.allclose(losses(flat, np.array([0, 3, 7])), [3, np.log2(15 / 8), 3])
    assert np.allclose(losses(flat + 500, np.array([0, 4, 7])), [3, np.log2(15), 3])
