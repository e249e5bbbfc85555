"""Broken models of other people: refused by name, in one line, with little time and memory."""

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from carrysave.compiler.decoder.folder import load_model
from carrysave.compiler.front.checkpoint import load_checkpoint
from carrysave.weights import tensor_files
from hw.emit.user_files import FileError
from verif.language.tiny_gguf import write_gguf
from verif.language.tiny_models import (
    CONFIGS,
    config_of,
    weights_of,
    write_checkpoint,
)
from verif.support.fuzz import broken, budgets, fuzz


def gguf_of(folder: Path, kind: str, **changes: Any) -> Path:
    config = config_of(kind, **changes)
    return write_gguf(folder / f"{kind}.gguf", config, weights_of(config))


@pytest.mark.parametrize("kind", ["llama", "gemma2", "phi3", "qwen3"])
def test_tensors_that_are_missing_or_wrong(kind: str, tmp_path: Path) -> None:
    """Each in turn: gone, of another shape, with a number that is none, and one too many."""
    config = config_of(kind)
    weights = weights_of(config)
    for name, values in weights.items():
        others = {one: array for one, array in weights.items() if one != name}
        changes = [others, {**others, name: values[..., :-1]}, {**others, name: values * np.nan}]
        for number, changed in enumerate(changes):
            with pytest.raises(FileError) as error:
                load_checkpoint(write_checkpoint(tmp_path / "m", config, changed), 8)
            says = ("not there", "must be ", "must be finite")[number]
            assert f"tensor '{name}': " in str(error.value)
            assert says in str(error.value)
    more = {**weights, "model.layers.0.self_attn.sinks": np.ones(4, np.float32)}
    with pytest.raises(FileError, match="sinks': is not known here and may not be left out"):
        load_checkpoint(write_checkpoint(tmp_path / "m", config, more), 8)


@pytest.mark.parametrize("kind", list(CONFIGS))
def test_entries_that_nobody_knows_or_that_are_wrong(kind: str, tmp_path: Path) -> None:
    """Each of a configuration in turn; and a new one."""
    config = config_of(kind)
    folder = write_checkpoint(tmp_path / "m", config, weights_of(config))

    def refusal(changed: dict[str, Any]) -> str:
        (folder / "config.json").write_text(json.dumps(changed))
        with pytest.raises(FileError) as error:
            load_checkpoint(folder, 8)
        assert "\n" not in str(error.value)
        return str(error.value)

    of_granite = ("embedding", "residual", "attention")
    names = ["new_entry", "logits_scaling", *(f"{name}_multiplier" for name in of_granite)]
    for name in names[: None if kind != "granite" else 1]:
        assert f"fact '{name}': is not known here" in refusal({**config, name: 1.0})
    for name in config:
        says = refusal({**config, name: {"what": ["is this"]}})
        assert name in says, says
    quantised = {"quant_method": "hqq", "bits": 4}
    says = refusal({**config, "quantization_config": quantised})
    assert "quant_method must be one of bitnet, gptq, awq, compressed-tensors, not 'hqq'" in says


@pytest.mark.parametrize(
    ("scaling", "says"),
    [
        ({"rope_type": "magic"}, "rope_type must be one of default, linear, dynamic"),
        ({"type": "linear"}, "factor must be 1 or more, not None"),
        ({"rope_type": "linear", "factor": 2.0, "more": 1}, "fact 'more': is not known here"),
        ({"rope_type": "yarn", "factor": 0.5}, "factor must be 1 or more, not 0.5"),
        ({"rope_type": "yarn", "factor": 4.0, "beta_fast": 0}, "beta_fast must be above 0"),
        ({"rope_type": "longrope", "short_factor": [1], "long_factor": 2}, "lists of numbers"),
        (
            {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 4.0, "high_freq_factor": 1.0},
            "high_freq_factor must be above low_freq_factor, not 1.0",
        ),
    ],
)
def test_scalings_that_are_wrong(scaling: dict[str, Any], says: str, tmp_path: Path) -> None:
    config = config_of("llama", rope_scaling=scaling)
    folder = write_checkpoint(tmp_path / "m", config, weights_of(config))
    with pytest.raises(FileError, match=says):
        load_checkpoint(folder, 8)


def test_indices_of_several_files(tmp_path: Path) -> None:
    """Each tensor is in the file that the index says, and in no other."""
    config = config_of("llama")
    weights = weights_of(config)
    folder = write_checkpoint(tmp_path / "m", config, weights)
    whole = tensor_files.read(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    names = list(whole)
    places = {name: f"part-{at % 2}.safetensors" for at, name in enumerate(names)}
    for file in set(places.values()):
        part = {name: one for name, one in whole.items() if places[name] == file}
        (folder / file).write_bytes(tensor_files.dump(part, ".safetensors"))
    index = folder / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": places}))
    model, _ = load_checkpoint(folder, 8)
    assert model.shape.layers == 2
    for changed, says in (
        ({"weight_map": {**places, "more": "part-0.safetensors"}}, "'more': is in none"),
        ({"weight_map": {**places, names[0]: "part-1.safetensors"}}, "must say part-0"),
        ({"weight_map": {**places, "x": "../m/part-0.safetensors"}}, "files must be .safetensors"),
        ({"weight_map": []}, "must have a weight_map"),
        ([], "must have a weight_map"),
    ):
        index.write_text(json.dumps(changed))
        with pytest.raises(FileError, match=says):
            load_checkpoint(folder, 8)


NUMBERS = [struct.pack("<I", one) for one in (0, 1, 3, 7, 65, 1 << 20, 1 << 24, (1 << 32) - 1)]
FLOATS = [struct.pack("<f", one) for one in (0.0, -1.0, 1e30, float("inf"), float("nan"))]
LONGS = [struct.pack("<Q", one) for one in (0, 1, 63, 1 << 31, 1 << 62, (1 << 64) - 1)]


@budgets
@pytest.mark.parametrize("kind", ["llama", "gemma2", "phi3", "mixtral"])
def test_broken_headers(kind: str, seconds: float, tmp_path: Path) -> None:
    good = [gguf_of(tmp_path, kind).read_bytes()]
    at = good[0].index(b"token_embd.weight")
    path = tmp_path / "m.gguf"
    # Changes are in the header alone; tensors are bytes of no meaning.
    head, tail = good[0][: at + 2000], good[0][at + 2000 :]

    def read(data: bytes) -> None:
        path.write_bytes(data + tail)
        load_model(path)

    fuzz(read, broken([head], [*NUMBERS, *FLOATS, *LONGS]), seconds)


@budgets
def test_broken_configurations(seconds: float, tmp_path: Path) -> None:
    kinds = ("llama", "gemma3_text", "phi3")
    configs = [config_of(kind, tokenizer=1) for kind in kinds]
    good = [json.dumps(one).encode() for one in configs]
    folder = write_checkpoint(tmp_path / "m", config_of("llama"), weights_of(config_of("llama")))

    def read(data: bytes) -> None:
        (folder / "config.json").write_bytes(data)
        load_checkpoint(folder, 8)

    fuzz(read, broken(good, most=3), seconds)
