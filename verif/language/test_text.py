"""Decoders of characters in few bits: near their floats, the same token by token."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from carrysave.compiler.decoder.recurrent import decoder_of
from carrysave.compiler.decoder.units import (
    GOLDEN,
    VECTOR,
    Units,
    moved,
    sigmoid,
    silu_scaling,
)
from carrysave.compiler.front.decoder import FORMS
from carrysave.compiler.front.text import FORMATS, gains_of, load_text, matrices_of
from carrysave.errors import UsageError
from golden.npe import elements
from hw.emit.user_files import FileError
from scripts.language.float_units import FLOATS
from scripts.language.save_text import save_text

CHARACTERS = "abcdefgh \n"
SIZES = {
    "layers": 2,
    "width": 64,
    "hidden": 96,
    "heads": 2,
    "context": 48,
    "cache_bits": 4,
    "characters": CHARACTERS,
}


def write(path: Path, form: str = "attention", bits: str = "w1.58a8", **changes: Any) -> Path:
    """Write a model of two blocks, with random weights."""
    header = {"form": form, "format": bits, **SIZES, **changes}
    rng = np.random.default_rng(5)
    width, levels, _, group = FORMATS[bits]
    codes = 3 if levels == "ternary" else 1 << width
    arrays: dict[str, np.ndarray] = {
        name: rng.normal(1, 0.1, size) for name, size in gains_of(header).items()
    }
    arrays["embedding"] = rng.normal(0, 1, (len(header["characters"]), header["width"]))
    for name, (rows, columns) in matrices_of(header).items():
        arrays[f"{name}.codes"] = rng.integers(0, codes, (rows, columns))
        scale = 3 / codes * rows**-0.5
        arrays[f"{name}.scales"] = scale * rng.uniform(0.8, 1.2, (rows // (group or rows), columns))
    save_text(path, header, arrays)
    return path


def floats(path: Path, tokens: np.ndarray) -> np.ndarray:
    """Return the logits of a recurrent model in doubles, straight from its file."""
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    header = json.loads(arrays["header"].tobytes())
    width, levels, _, group = FORMATS[header["format"]]
    zero = {"ternary": 1, "affine": 1.5, "uniform": 1 << width - 1}[levels]
    weights = {
        name: (arrays[f"{name}.codes"].astype(np.float64) - zero)
        * np.repeat(arrays[f"{name}.scales"].astype(np.float64), group or rows, axis=0)
        for name, (rows, _) in matrices_of(header).items()
    }

    def norm(x: np.ndarray, name: str) -> np.ndarray:
        return x / np.sqrt((x * x).mean(axis=1, keepdims=True)) * arrays[name]

    def logistic(x: np.ndarray) -> np.ndarray:
        return 1 / (1 + np.exp(-x))

    x = arrays["embedding"][tokens].astype(np.float64)
    for layer in range(header["layers"]):
        own = {
            name.partition(".")[2]: one
            for name, one in weights.items()
            if name.startswith(f"{layer}.")
        }
        h = norm(x, f"{layer}.mix_norm")
        keep, candidate = logistic(h @ own["mix_forget"]), h @ own["mix_candidate"]
        states, state = [], np.zeros(header["width"])
        for row in range(len(x)):
            fresh = candidate[row] * logistic(candidate[row])
            state = keep[row] * state + (1 - keep[row]) * fresh
            states.append(state)
        mixed = logistic(h @ own["mix_gate"]) * np.array(states)
        x = x + norm(mixed, f"{layer}.output_norm") @ own["mix_output"]
        h = norm(x, f"{layer}.ffn_norm")
        gates = h @ own["ffn_gate"]
        hidden = gates * logistic(gates) * (h @ own["ffn_up"])
        x = x + norm(hidden, f"{layer}.down_norm") @ own["ffn_down"]
    return norm(x, "norm") @ weights["head"]


def error(path: Path, units: Units, wanted: np.ndarray, tokens: np.ndarray) -> float:
    """Return how far a model's logits are from others, of their length."""
    found = decoder_of(load_text(path)[0], cache=48, bits=None, units=units).step(tokens)
    return float(np.linalg.norm(found - wanted) / np.linalg.norm(wanted))


@pytest.mark.parametrize(("bits", "most"), [("w1.58a8", 0.1), ("w2a8", 0.1), ("w4a4", 0.5)])
def test_recurrent_decoder_is_near_its_floats(tmp_path: Path, bits: str, most: float) -> None:
    path = write(tmp_path / "m.npz", "recurrent", bits)
    tokens = np.random.default_rng(1).integers(0, len(CHARACTERS), 24)
    wanted = floats(path, tokens)
    assert error(path, FLOATS, wanted, tokens) < (
        2e-3 if bits == "w2a8" else 1e-5
    )  # its offset: fp16
    assert 0.001 < error(path, GOLDEN, wanted, tokens) < most


@pytest.mark.parametrize("bits", FORMATS)
def test_attention_is_near_its_floats(tmp_path: Path, bits: str) -> None:
    path = write(tmp_path / "m.npz", bits=bits)
    tokens = np.random.default_rng(1).integers(0, len(CHARACTERS), 24)
    wanted = decoder_of(load_text(path)[0], cache=48, bits=None, units=FLOATS).step(tokens)
    assert 0.001 < error(path, GOLDEN, wanted, tokens) < (0.5 if bits == "w4a4" else 0.2)


def test_states_move_as_integers_do() -> None:
    rng = np.random.default_rng(2)
    states = [-(1 << 22), (1 << 22) - 1, 0, 1, *rng.integers(-(1 << 22), 1 << 22, 200).tolist()]
    keeps = [0, 1 << 15, 1, (1 << 15) - 1, *rng.integers(0, 1 << 15, 200).tolist()]
    fresh = [-(1 << 14), (1 << 14) - 1, -1, 0, *rng.integers(-(1 << 14), 1 << 14, 200).tolist()]
    found = moved(
        np.ldexp(np.array(states, float), -16),
        np.ldexp(np.array(keeps, float), -15),
        np.ldexp(np.array(fresh, float), -8),
    )
    wanted = [
        (keep * state + ((1 << 15) - keep) * (one << 8) + (1 << 14)) >> 15
        for state, keep, one in zip(states, keeps, fresh, strict=True)
    ]
    assert np.ldexp(found, 16).tolist() == wanted


def test_sigmoids_are_near_the_function_and_symmetric() -> None:
    x = np.ldexp(np.arange(-(1 << 12), 1 << 12).astype(float), -8)
    found = sigmoid(x)
    assert np.abs(found - 1 / (1 + np.exp(-x))).max() < 0.02
    assert (np.diff(found) >= 0).all()
    assert np.array_equal(found[1:] + found[:0:-1], np.ones(len(x) - 1))
    codes = np.ldexp(found, 15)
    assert np.array_equal(codes, np.rint(codes))
    assert sigmoid(np.array([0.0, 1e9, -1e9])).tolist() == [0.5, 1, 0]


def test_gates_are_those_of_the_vector_unit() -> None:
    """All of them, and what saturates; times values."""
    x = np.append(np.arange(-33000, 33000) / 256, [-1e9, 1e9]).astype(np.float32)
    codes = np.append(np.clip(np.arange(-33000, 33000), -32768, 32767), [-32768, 32767])
    made = elements.gate(VECTOR, "silu", codes, VECTOR.scaling, silu_scaling())
    values = np.arange(1, len(x) + 1, dtype=np.float32)
    assert np.array_equal(GOLDEN.gated(x, values), (made / 256).astype(np.float32) * values)


@pytest.mark.parametrize("bits", [8, 4])
def test_rows_attend_together_as_they_do_alone(tmp_path: Path, bits: int) -> None:
    """The block's jobs are of single rows; several at once make the same integers."""
    model, _ = load_text(write(tmp_path / "m.npz"))
    tokens = np.random.default_rng(6).integers(0, len(CHARACTERS), 48)

    def logits(rows: int) -> np.ndarray:
        units = replace(GOLDEN, rows=rows)
        decoder = decoder_of(model, cache=48, bits=bits, units=units)
        return np.concatenate([decoder.step(part) for part in np.split(tokens, [37])])

    alone = logits(1)
    for rows in (GOLDEN.rows, 7, 64):
        assert np.array_equal(logits(rows), alone)


@pytest.mark.parametrize(
    ("form", "bits"), [("attention", 8), ("attention", 4), ("recurrent", None)]
)
def test_decoder_makes_the_same_of_tokens_one_by_one(
    tmp_path: Path, form: str, bits: int | None
) -> None:
    model, _ = load_text(write(tmp_path / "m.npz", form))
    tokens = np.random.default_rng(1).integers(0, len(CHARACTERS), 9)
    # The first step's keys have a say in those of 4 bits.
    whole, decoder = (decoder_of(model, cache=9, bits=bits) for _ in range(2))
    first = whole.step(tokens[:4])
    assert np.array_equal(decoder.step(tokens[:4]), first)
    parts = [decoder.step(part) for part in (tokens[4:5], tokens[5:])]
    assert np.array_equal(np.concatenate(parts), whole.step(tokens[4:]))
    with pytest.raises(UsageError, match=r"prompt must be 1\.\.0 tokens"):
        decoder.step(tokens[:1])


@pytest.mark.parametrize("form", FORMS)
def test_arrays_are_used_or_refused(tmp_path: Path, form: str) -> None:
    """Every array of a file is needed, and no other may be there, nor another word of a header."""
    with np.load(write(tmp_path / "m.npz", form)) as file:
        arrays = {name: file[name] for name in file.files}
    changed = tmp_path / "changed.npz"
    for name in arrays:
        np.savez(changed, **{key: one for key, one in arrays.items() if key != name})
        with pytest.raises(FileError, match=name):
            load_text(changed)
    for name in ("2.mix_norm", "0.ffn_up.bias", "head.zeros", "0.rope"):
        whole = arrays | {name: np.ones(64, np.float32)}
        np.savez(changed, **whole)
        with pytest.raises(FileError, match=f"array '{name}': is not known here"):
            load_text(changed)
    header = {**json.loads(arrays["header"].tobytes()), "base": 1e6}
    arrays["header"] = np.frombuffer(json.dumps(header).encode(), np.uint8)
    np.savez(changed, **arrays)
    with pytest.raises(FileError, match="header 'base': is not known here"):
        load_text(changed)
