"""A language model takes little more memory than its file."""

import os
import tracemalloc
from pathlib import Path

import gguf
import numpy as np
import pytest

from carrysave.compiler.decoder.attention import Decoder
from carrysave.compiler.front.gguf import load
from carrysave.weights.file_part import FilePart
from carrysave.weights.gguf import read_gguf
from hw.emit.user_files import FileError
from verif.language.tiny_gguf import write_gguf
from verif.language.tiny_models import config_of, weights_of

WIDTH, HIDDEN, WORDS, LAYERS = 768, 2048, 8192, 6
MATRICES = {
    "attn_q": (WIDTH, WIDTH),
    "attn_k": (WIDTH // 4, WIDTH),
    "attn_v": (WIDTH // 4, WIDTH),
    "attn_output": (WIDTH, WIDTH),
    "ffn_gate": (HIDDEN, WIDTH),
    "ffn_up": (HIDDEN, WIDTH),
    "ffn_down": (WIDTH, HIDDEN),
}
BYTES = {"Q4_0": 18, "Q4_1": 20, "Q5_0": 22, "Q8_0": 34}


def blocks(rng: np.random.Generator, kind: str, outputs: int, inputs: int) -> np.ndarray:
    """Draw blocks of codes, with small scales and offsets."""
    drawn = rng.integers(0, 256, (outputs, inputs // 32, BYTES[kind]), np.uint8)
    drawn[..., :2] = np.frombuffer(np.float16(0.002).tobytes(), np.uint8)
    if kind.endswith("_1"):
        drawn[..., 2:4] = np.frombuffer(np.float16(-0.015).tobytes(), np.uint8)
    return drawn.reshape(outputs, -1)


def write(path: Path, kind: str) -> Path:
    """Write a model of some 30 MB, whose embedding of 8 bits is its matrix to the words."""
    rng = np.random.default_rng(1)
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(LAYERS)
    writer.add_context_length(64)
    writer.add_embedding_length(WIDTH)
    writer.add_feed_forward_length(HIDDEN)
    writer.add_head_count(WIDTH // 64)
    writer.add_head_count_kv(WIDTH // 256)

    def add(name: str, kind: str, outputs: int, inputs: int) -> None:
        number = gguf.GGMLQuantizationType[kind]
        writer.add_tensor(name, blocks(rng, kind, outputs, inputs), raw_dtype=number)

    add("token_embd.weight", "Q8_0", WORDS, WIDTH)
    writer.add_tensor("output_norm.weight", np.ones(WIDTH, np.float32))
    for number in range(LAYERS):
        for name, shape in MATRICES.items():
            add(f"blk.{number}.{name}.weight", kind, *shape)
        for name in ("attn_norm", "ffn_norm"):
            writer.add_tensor(f"blk.{number}.{name}.weight", np.ones(WIDTH, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@pytest.mark.parametrize("kind", ["Q4_0", "Q4_1", "Q8_0"])
def test_weights_are_in_memory_once(kind: str, tmp_path: Path) -> None:
    """As the file has them: neither the file itself, nor floats, nor a byte for 4 bits."""
    path = write(tmp_path / "m.gguf", kind)
    size = path.stat().st_size
    tracemalloc.start()
    try:
        decoder = Decoder(load(read_gguf(path)), cache=64)
        held, most = tracemalloc.get_traced_memory()
        decoder.step(np.arange(8), last=True)
        _, later = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert 0.9 * size < held < 1.02 * size
    # One matrix while it is read, and what a product needs.
    assert max(most, later) < 1.4 * size


def test_weights_of_a_file_that_changes_are_refused(tmp_path: Path) -> None:
    """Bytes of tensors are read when they are needed."""
    path = write(tmp_path / "m.gguf", "Q4_0")
    file = read_gguf(path)
    with path.open("r+b") as opened:
        opened.truncate(path.stat().st_size - 1)
    with pytest.raises(FileError, match=r"m\.gguf: must stay as it is while it is read"):
        load(file)


def test_weights_that_change_in_place_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "m.gguf", "Q4_0")
    file, times = read_gguf(path), path.stat()
    data = path.read_bytes()
    path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns + 1))
    with pytest.raises(FileError, match=r"m\.gguf: must stay as it is while it is read"):
        load(file)


def test_scales_that_are_no_numbers_are_refused(tmp_path: Path) -> None:
    """The last bytes are those of a block of four bits, in whichever matrix."""
    path = write(tmp_path / "m.gguf", "Q4_0")
    file = read_gguf(path)
    tensor = file.tensors["blk.5.ffn_down.weight"]
    assert isinstance(tensor.data, FilePart)
    for scale in (np.inf, np.nan):
        with path.open("r+b") as opened:
            opened.seek(tensor.data.start + 7 * BYTES["Q4_0"])
            opened.write(np.float16(scale).tobytes())
        with pytest.raises(FileError, match=r"tensor 'blk\.5\.ffn_down\.weight': must be finite"):
            load(read_gguf(path))


def test_an_embedding_of_floats_is_not_rounded(tmp_path: Path) -> None:
    """The matrix to the words is; rows are the file's, also when it is gone."""
    config = config_of("llama", tie_word_embeddings=True)
    weights = weights_of(config)
    path = write_gguf(tmp_path / "m.gguf", config, weights, "F16")
    model = load(read_gguf(path))
    path.unlink()
    wanted = weights["model.embed_tokens.weight"].astype(np.float16).astype(np.float32)
    assert np.array_equal(model.embedding[np.array([3, 0, 3])], wanted[[3, 0, 3]])
    head = model.head.floats(np.arange(len(wanted)))
    assert not np.array_equal(head, wanted)


def test_the_last_logits_alone(tmp_path: Path) -> None:
    """They are those that the last of all tokens has; caches grow as tokens come."""
    model = load(read_gguf(write(tmp_path / "m.gguf", "Q4_1")))
    tokens = np.random.default_rng(1).integers(0, WORDS, 40)
    every = Decoder(model, cache=64).step(tokens)
    one = Decoder(model, cache=64)
    one.step(tokens[:7], last=True)
    assert np.array_equal(one.step(tokens[7:], last=True), every[-1:])
