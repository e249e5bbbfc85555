"""Families of decoders by their features: each cell of the table is a tiny model.

Logits are near those of a reference in doubles that knows nothing of carrysave, from GGUF and from
a checkpoint; and a model without the feature is far off.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from carrysave.compiler.decoder.attention import Decoder
from carrysave.compiler.front.checkpoint import MODEL_TYPES, load_checkpoint
from carrysave.compiler.front.decoder import Model
from carrysave.compiler.front.families import FAMILIES
from carrysave.compiler.front.gguf import load
from carrysave.weights.gguf import read_gguf
from scripts.language.float_units import FLOATS
from verif.language.family_cells import CELLS, LLAMA3, Cell, scaled
from verif.language.reference_decoder import logits
from verif.language.tiny_gguf import write_gguf
from verif.language.tiny_models import (
    CONFIGS,
    TOKENS,
    config_of,
    weights_of,
    write_checkpoint,
)
from verif.soc.driver.conftest import library as library
from verif.support.modules import ROOT

TEXT = np.random.default_rng(1).integers(0, len(TOKENS), 24)
Weights = dict[str, np.ndarray]


def error(found: np.ndarray, wanted: np.ndarray) -> float:
    return float(np.linalg.norm(found - wanted) / np.linalg.norm(wanted))


def model_of(
    form: str, folder: Path, config: dict[str, Any], weights: Weights, **how: Any
) -> Model:
    """Write a model, and read it."""
    if form == "gguf":
        return load(read_gguf(write_gguf(folder / "m.gguf", config, weights, **how)))
    return load_checkpoint(write_checkpoint(folder / "m", config, weights), 8)[0]


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: f"{cell.kind}-{cell.feature}")
def test_feature_of_a_family(cell: Cell, tmp_path: Path) -> None:
    config = config_of(cell.kind, **cell.config)
    weights = weights_of(config)
    wanted = logits(config, weights, TEXT)
    for form in cell.forms:
        model = model_of(form, tmp_path, config, weights)
        assert error(Decoder(model, cache=32, units=FLOATS).step(TEXT), wanted) < 2e-5
        assert error(Decoder(model, cache=32).step(TEXT), wanted) < 0.03
    changed = {**config, **cell.without}
    other = {name: value for name, value in changed.items() if value is not None}
    others = {
        name: next((np.full_like(one, to) for part, to in cell.like.items() if part in name), one)
        for name, one in weights.items()
    }
    if cell.without or cell.like:
        # A hundred times what the first of the two may differ by.
        assert error(logits(other, others, TEXT), wanted) > 0.002


def test_each_family_has_a_cell() -> None:
    """From GGUF and from a checkpoint, but for what has one name in each."""
    assert {cell.kind for cell in CELLS} == set(CONFIGS) == set(MODEL_TYPES)
    assert set(MODEL_TYPES.values()) | {"bitnet"} == set(FAMILIES)


def test_old_configurations_and_new_ones_are_the_same(tmp_path: Path) -> None:
    """What transformers 5 writes: scalings with their bases, of both kinds of layers."""
    linear = scaled("linear")["rope_scaling"]
    for kind, changes, new in (
        ("llama", LLAMA3, {"rope_parameters": {**LLAMA3["rope_scaling"], "rope_theta": 10000.0}}),
        ("qwen2", {}, {"rope_parameters": {"rope_type": "default", "rope_theta": 10000.0}}),
        (
            "gemma3_text",
            {"rope_scaling": linear},
            {
                "rope_parameters": {
                    "full_attention": {**linear, "rope_theta": 1e6},
                    "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0},
                },
                "layer_types": ["sliding_attention"] * 5 + ["full_attention"],
                "rope_local_base_freq": None,
                "sliding_window_pattern": None,
            },
        ),
    ):
        config = config_of(kind, **changes)
        weights = weights_of(config)
        first = model_of("checkpoint", tmp_path, config, weights)
        gone = {"rope_scaling": None, "rope_theta": None}
        second = model_of(
            "checkpoint", tmp_path, config_of(kind, **{**changes, **gone, **new}), weights
        )
        one, other = (
            Decoder(model, cache=32, units=FLOATS).step(TEXT) for model in (first, second)
        )
        assert np.array_equal(one, other)


@pytest.mark.parametrize("quantised", ["F16", "BF16", "F32", "Q4_0", "Q4_1", "Q5_0", "Q5_1"])
def test_kinds_of_matrices(quantised: str, tmp_path: Path) -> None:
    """Floats are rounded to 8 bits; codes stay."""
    config = config_of("llama")
    weights = weights_of(config, quantised="F32" if quantised in ("F16", "BF16") else quantised)
    model = model_of("gguf", tmp_path, config, weights, quantised=quantised)
    wanted = logits(config, weights, TEXT)
    made = Decoder(model, cache=32, units=FLOATS).step(TEXT)
    assert error(made, wanted) < (0.012 if "F" in quantised else 2e-5)
    assert error(Decoder(model, cache=32).step(TEXT), wanted) < 0.03


def packed(weights: Weights) -> Weights:
    """Return trits as the checkpoints of BitNet have them: a quarter of outputs in two bits."""
    made = {}
    for name, values in weights.items():
        if "_proj" not in name:
            made[name] = values
            continue
        scale = np.abs(values).max()
        codes = (np.rint(values / scale).astype(np.int64) + 1).reshape(4, -1, values.shape[1])
        made[name] = sum(one << 2 * bit for bit, one in enumerate(codes)).astype(np.uint8)
        made[f"{name}_scale"] = np.array([scale], np.float32)
    return made


@pytest.mark.parametrize("mode", ["offline", "online"])
def test_trits_of_bitnet(mode: str, tmp_path: Path) -> None:
    """Packed, or floats that are to be rounded: by the mean of their magnitudes."""
    how = {"quant_method": "bitnet", "linear_class": "autobitlinear", "quantization_mode": mode}
    config = config_of("bitnet", quantization_config=how)
    weights = stored = weights_of(config)
    if mode == "offline":
        stored = packed(weights)
    else:
        rng = np.random.default_rng(4)
        stored = {
            name: rng.normal(0, 0.08, one.shape).astype(np.float32) if "_proj" in name else one
            for name, one in weights.items()
        }
        weights = dict(stored)
        for name in weights:
            if "_proj" in name:
                mean = np.abs(weights[name]).mean()
                weights[name] = np.clip(np.rint(weights[name] / mean), -1, 1) * mean
    model, rounded = load_checkpoint(write_checkpoint(tmp_path / "m", config, stored), 8)
    made = Decoder(model, cache=32, units=FLOATS).step(TEXT)
    # A scale is rounded to fp16.
    assert error(made, logits(config, weights, TEXT)) < 1e-3
    assert {one.levels for layer in model.layers for one in layer.matrices.values()} == {"ternary"}
    assert mode == "online" or rounded["trits"][1] < 3e-4


def test_guide_has_the_table() -> None:
    """Each family with its names, and the features that a cell holds."""
    guide = (ROOT / "docs/guides/language.md").read_text()
    for kind in CONFIGS:
        features = ", ".join(cell.feature for cell in CELLS if cell.kind == kind)
        name = "bitnet, bitnet-b1.58" if kind == "bitnet" else MODEL_TYPES[kind]
        assert f"| `{kind}` | `{name}` | {features} |" in guide, kind
