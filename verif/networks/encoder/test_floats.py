"""Text encoders: their files, and what they compute in floats, against onnxruntime."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from carrysave.compiler.encoder.floats import encode
from carrysave.compiler.front.encoder_weights import read_encoder
from carrysave.compiler.graph.reference_runtime import session
from hw.emit.user_files import FileError
from verif.networks.encoder.encoders import SIZES, graph, tensors, write


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(1)


def test_vectors_are_those_of_onnxruntime(rng: np.random.Generator, tmp_path: Path) -> None:
    encoder = read_encoder(write(tmp_path, tensors(rng)))
    sentences = [rng.integers(0, SIZES["vocab_size"], size) for size in (1, 7, 20)]
    seen: dict[str, np.ndarray] = {}
    found = encode(encoder, sentences, seen.__setitem__)
    assert seen["1.feed"].shape == (28, SIZES["hidden_size"])
    oracle = session(graph(encoder).SerializeToString())
    for one, vector in zip(sentences, found, strict=True):
        x = (encoder.words[one] + encoder.positions[: one.size]).astype(np.float32)
        (wanted,) = oracle.run(["y"], {"x": x})
        np.testing.assert_allclose(vector, wanted[0], atol=2e-6)
        assert np.linalg.norm(vector) == pytest.approx(1)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"hidden_size": 0}, "hidden_size: must be 1..16384, not 0"),
        ({"num_hidden_layers": True}, "num_hidden_layers: must be 1..256, not True"),
        ({"num_attention_heads": 5}, "num_attention_heads: must divide hidden_size, 24, not be 5"),
        ({"vocab_size": "a\nb"}, r"vocab_size: must be 1..16777216, not 'a\nb'"),
        ({"hidden_act": "relu"}, "hidden_act: must be one of gelu, silu, not 'relu'"),
        ({"model_type": "gpt2"}, "model_type: must be one of bert, not 'gpt2'"),
        (
            {"position_embedding_type": "rotary"},
            "position_embedding_type: must be one of absolute, not 'rotary'",
        ),
        ({"layer_norm_eps": 1e-5}, "layer_norm_eps: must be one of 1e-12, not 1e-05"),
        ({"is_decoder": True}, "is_decoder: must be one of False, not True"),
    ],
)
def test_configurations_are_refused(
    rng: np.random.Generator, tmp_path: Path, changes: dict[str, Any], says: str
) -> None:
    write(tmp_path, tensors(rng), **changes)
    with pytest.raises(FileError) as caught:
        read_encoder(tmp_path)
    assert str(caught.value) == f"{tmp_path / 'config.json'}: {says}"


@pytest.mark.parametrize("text", ["", "[]", "{", "[" * 100_000, '{"hidden_size": 1e400}'])
def test_damaged_configurations_are_refused(
    rng: np.random.Generator, tmp_path: Path, text: str
) -> None:
    write(tmp_path, tensors(rng))
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(FileError, match=r"config\.json") as caught:
        read_encoder(tmp_path)
    assert "\n" not in str(caught.value)


def test_damaged_weights_are_refused(rng: np.random.Generator, tmp_path: Path) -> None:
    found = tensors(rng)
    name = "encoder.layer.1.output.dense.weight"
    for value, says in (
        (None, "is missing"),
        (found[name][1:], "must be 24 x 40 floats, not 23 x 40 floats"),
        (np.zeros((24, 40), np.int32), "must be 24 x 40 floats, not 24 x 40 integers"),
        (np.full((24, 40), np.nan, np.float32), "must be of finite numbers"),
    ):
        own = {key: one for key, one in found.items() if key != name}
        write(tmp_path, own if value is None else own | {name: value})
        with pytest.raises(FileError) as caught:
            read_encoder(tmp_path)
        path = tmp_path / "model.safetensors"
        assert str(caught.value) == f"{path}: tensor '{name}': {says}"
    write(tmp_path, found)
    whole = path.read_bytes()
    for size in (0, 7, 200, len(whole) - 1):
        path.write_bytes(whole[:size])
        with pytest.raises(FileError, match=r"model\.safetensors") as caught:
            read_encoder(tmp_path)
        assert "\n" not in str(caught.value)
    path.unlink()
    with pytest.raises(FileNotFoundError):
        read_encoder(tmp_path)


def test_tensors_are_used_or_refused(rng: np.random.Generator, tmp_path: Path) -> None:
    """What nothing takes may change what is computed: all but what a mean of rows leaves out."""
    found, place = tensors(rng), "embeddings.position_ids"
    harmless = {"pooler.dense.weight": np.ones((24, 24)), place: np.arange(20)[None]}
    read_encoder(write(tmp_path, found | harmless))
    for name in (
        "encoder.layer.2.output.dense.weight",
        "encoder.layer.1.adapter.weight",
        "encoder.embed_positions.weight",
        "embeddings.norm\x1b.weight",
    ):
        write(tmp_path, found | {name: np.ones((2, 2))})
        with pytest.raises(FileError, match="is not known here and may not be left out") as caught:
            read_encoder(tmp_path)
        assert name.replace("\x1b", "\\x1b") in str(caught.value)
    write(tmp_path, found | {place: np.arange(20)[::-1].copy()})
    with pytest.raises(FileError, match=f"tensor '{place}': must be 0, 1, 2"):
        read_encoder(tmp_path)


@pytest.mark.parametrize(
    ("sentences", "says"),
    [
        ([], "sentences must be one or more, not none"),
        ([[1], []], "sentence 2: must be of 1..20 tokens, not 0"),
        ([[1] * 21], "sentence 1: must be of 1..20 tokens, not 21"),
        ([[1, 50]], "sentence 1: tokens must be 0..49, not 50"),
        ([[-1, 5]], "sentence 1: tokens must be 0..49, not -1"),
        ([[0.5]], "sentence 1: tokens must be integers in a row"),
    ],
)
def test_sentences_are_refused(
    rng: np.random.Generator, tmp_path: Path, sentences: Any, says: str
) -> None:
    encoder = read_encoder(write(tmp_path, tensors(rng)))
    arrays = [np.array(one, None if one else np.int64) for one in sentences]
    with pytest.raises(ValueError, match=f"^{says}$"):
        encode(encoder, arrays)


def test_configuration_has_defaults(rng: np.random.Generator, tmp_path: Path) -> None:
    write(tmp_path, tensors(rng))
    config = json.loads((tmp_path / "config.json").read_text())
    del config["hidden_act"]
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert read_encoder(tmp_path).activation == "gelu"
