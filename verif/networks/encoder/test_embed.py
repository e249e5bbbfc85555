"""``carrysave embed``: vectors of sentences from a text encoder's files."""

import io
import json
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from carrysave.compiler.encoder.evaluate import rank_correlation
from carrysave.compiler.encoder.floats import encode
from carrysave.compiler.encoder.view import show_program
from carrysave.compiler.front.encoder_weights import read_encoder
from carrysave.compiler.front.sentences import read_tokens
from verif.networks.encoder.encoders import SIZES, tensors, write
from verif.support.command import Run
from verif.support.schemas import check

WORDS = ["the", "a", "cat", "dog", "sees", "likes", "red", "blue", "house", "and"]
TEXT = "the cat sees a dog\na dog likes the red house\n\nblue and red and blue\nthe house\n"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    folder = write(tmp_path / "small", tensors(np.random.default_rng(1)))
    names = ["[CLS]", "[SEP]", "[UNK]", *WORDS]
    vocabulary = {name: place for place, name in enumerate(names)}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 1), ("[CLS]", 0))
    # What encoders' files have, and would lengthen or cut sentences.
    tokenizer.enable_padding(length=16)
    tokenizer.enable_truncation(4)
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


def test_tokens_are_all_and_none_else(model: Path) -> None:
    found, cut = read_tokens(model, ["the cat sees", "of", " ".join(["dog"] * 40)], 20)
    assert cut == 1
    assert [one.tolist() for one in found[:2]] == [[0, 3, 5, 7, 1], [0, 2, 1]]
    assert found[2].tolist() == [0, *[6] * 18, 1]


def test_embed_writes_vectors_and_figures(run: Run, model: Path, tmp_path: Path) -> None:
    text, other, out = tmp_path / "t.txt", tmp_path / "other.txt", tmp_path / "out"
    text.write_text(TEXT)
    rng = np.random.default_rng(2)
    other.write_text("\n".join(" ".join(rng.choice(WORDS, 18)) for _ in range(20)))
    given = ("--calibration", str(other), "--batch", "3", "-o", str(out), "--json")
    code, printed, err = run("embed", str(model), str(text), *given)
    assert code == 0, err
    found = json.loads(printed)
    made = np.load(out / "embed" / "small" / "vectors.npy")
    encoder = read_encoder(model)
    sentences, _ = read_tokens(model, [line for line in TEXT.splitlines() if line], 20)
    wanted = encode(encoder, sentences)
    assert made.dtype == np.float32
    assert made.shape == wanted.shape
    np.testing.assert_allclose(np.linalg.norm(made, axis=1), 1, atol=1e-6)
    near = (made * wanted).sum(axis=1)
    assert found["cosine_mean"] == pytest.approx(near.mean(), abs=1e-6)
    assert found["cosine_least"] == pytest.approx(near.min(), abs=1e-6)
    assert near.min() > 0.98
    assert found["rank_correlation"] == pytest.approx(rank_correlation(made, wanted))
    assert (found["sentences"], found["calibration"], found["batch"]) == (4, 20, 3)
    assert found["batch_tokens"] == sum(one.size for one in sentences[:3])
    kinds = {row["kind"]: row for row in found["kinds"]}
    width, wide = SIZES["hidden_size"], SIZES["intermediate_size"]
    each = 4 * width * width + 2 * width * wide
    layers = SIZES["num_hidden_layers"]
    assert kinds["product of weights"]["macs"] == layers * found["batch_tokens"] * each
    squares = sum(one.size**2 for one in sentences[:3])
    assert kinds["product of attention"]["macs"] == 2 * layers * width * squares
    assert sum(row["cycles"] for row in found["kinds"]) == found["cycles"]
    assert found["layer_products"] > found["layer_roofline"] > 0
    assert found["layer_cycles"] == found["layer_products"] + found["layer_rest"]
    assert json.loads((out / "embed" / "small" / "embed.json").read_text()) == found
    assert "product of weights" in (out / "embed" / "small" / "jobs.md").read_text()


def test_a_program_embeds_without_the_model(run: Run, model: Path, tmp_path: Path) -> None:
    """Sentences of any length, by one program: near those of programs of their lengths."""
    text, out = tmp_path / "t.txt", tmp_path / "out"
    text.write_text(TEXT)
    np.save(tmp_path / "x.npy", np.zeros(3))
    code, _, err = run("embed", str(model), str(text), "-o", str(out))
    assert code == 0, err
    wanted = np.load(out / "embed" / "small" / "vectors.npy")
    given = ("--calibration", str(text), "--tokens", "16", "-o", str(out), "--json")
    code, printed, err = run("compile", str(model), *given)
    assert code == 0, err
    found = check("compile", printed)
    assert (found["moves"], found["host_segments"]) == (0, 0)
    code, printed, err = run("estimate", str(model), *given[:4], "--json")
    assert code == 0, err
    same = {"command": "", "files": []}
    assert check("compile", printed) | same == found | same
    for file in model.iterdir():
        file.unlink()
    folder = out / "compile" / "small"
    code, printed, err = run("embed", str(folder), str(text), "-o", str(out / "other"), "--json")
    assert code == 0, err
    made = np.load(out / "other" / "embed" / "small" / "vectors.npy")
    assert made.shape == wanted.shape
    assert (made * wanted).sum(axis=1).min() > 0.999
    facts = json.loads(printed)
    assert facts["cycles"] == found["cycles"]
    shown = io.StringIO()
    show_program(Console(file=shown, width=200), facts)
    assert f"{found['cycles']:,} cycles of the longest" in shown.getvalue()
    assert "wrote" not in shown.getvalue()  # the command says it, once
    for arguments, says in (
        (("embed", folder, text, "--simulate", "layer"), "--simulate must be left out"),
        (
            ("run", folder, "--input", tmp_path / "x.npy"),
            "the program takes text: carrysave chat",
        ),
        (("compile", model), ""),
    ):
        code, _, err = run(*map(str, arguments), "-o", str(out))
        assert (code, says in err) == (2, True), err


def test_compiling_an_encoder_refuses(run: Run, model: Path, tmp_path: Path) -> None:
    text, out = tmp_path / "t.txt", tmp_path / "out"
    text.write_text(TEXT)
    given = ("--calibration", str(text))
    for arguments, says in (
        ((), "--calibration must be given for small"),
        (
            (*given, "--batch", "2"),
            "--stop-after, --timeline, --batch-axis, --constant and --state must be left out",
        ),
        ((*given, "--tokens", "1"), "tokens must be 2..20, as of the encoder and unit, not 1"),
        ((*given, "-p", "gather=false"), "gather must be true"),
    ):
        code, printed, err = run("compile", str(model), *arguments, "-o", str(out))
        assert (code, printed, says in err) == (2, "", True), err
    assert not out.exists()


def test_embed_refuses_in_one_line(run: Run, model: Path, tmp_path: Path) -> None:
    text, empty, out = tmp_path / "t.txt", tmp_path / "empty.txt", tmp_path / "out"
    text.write_text(TEXT)
    empty.write_text(" \n\n")
    unit = "vector_unit(width=16,out_width=8)"
    short = "vector_unit(width=16,signed=true,length=16)"
    for arguments, says in (
        ((text, "--batch", "0"), "--batch must be 1..4096 sentences, not 0"),
        ((text, "--simulate", "all"), "--simulate must be one of layer, sample, none, not 'all'"),
        ((text, "-p", "vector=none"), "vector must be a vector unit, not none"),
        ((text, "-p", "vector=vector_unit"), "width of the vector unit must be 16, not 8"),
        ((text, "-p", f"vector={unit}"), "signed of the vector unit must be true"),
        ((text, "-p", f"vector={short}"), "length of the vector unit must be 24 or more, not 16"),
        ((empty,), f"{empty}: must have a sentence in a line, or more"),
        ((text, "--calibration", empty), f"{empty}: must have a sentence in a line, or more"),
        ((tmp_path / "gone.txt",), "gone.txt: No such file or directory"),
    ):
        code, printed, err = run("embed", str(model), *map(str, arguments), "-o", str(out))
        assert (code, printed) == (2, ""), arguments
        last = err.splitlines()[-1]
        assert says in last
    weights = model / "model.safetensors"
    whole = weights.read_bytes()
    for cut in (whole[:-1], whole[:100], b""):
        weights.write_bytes(cut)
        code, printed, err = run("embed", str(model), str(text), "-o", str(out))
        assert (code, printed) == (2, "")
        assert f"{weights}: " in err.splitlines()[-1]
    weights.write_bytes(whole)
    for content in ("", "{", '{"model": 3}', "\ud800"):
        (model / "tokenizer.json").write_bytes(content.encode(errors="surrogatepass"))
        code, printed, err = run("embed", str(model), str(text), "-o", str(out))
        assert (code, printed) == (2, "")
        assert f"{model / 'tokenizer.json'}: " in err.splitlines()[-1]
    (model / "tokenizer.json").unlink()
    code, printed, err = run("embed", str(model), str(text), "-o", str(out))
    assert (code, printed) == (2, "")
    assert "tokenizer.json: No such file or directory" in err
    assert not out.exists()


def test_embed_refuses_numbers_that_are_too_large_inside(
    run: Run, model: Path, tmp_path: Path
) -> None:
    found: dict[str, np.ndarray] = dict(tensors(np.random.default_rng(1)))
    name = "encoder.layer.0.output.dense.weight"
    found[name] = found[name].astype(np.float64) * 1e306
    write(model, found)
    text = tmp_path / "t.txt"
    text.write_text(TEXT)
    code, printed, err = run("embed", str(model), str(text), "-o", str(tmp_path / "out"))
    assert (code, printed) == (2, "")
    assert "inside the encoder must be 1e+12 at most, not" in err.splitlines()[-1]
    assert "Warning" not in err


def test_rank_correlation_is_of_all_pairs() -> None:
    rng = np.random.default_rng(1)
    a = rng.normal(size=(7, 5))
    assert rank_correlation(a[:2], a[:2]) is None
    assert rank_correlation(a, 3 * a) == pytest.approx(1)
    # By hand, with a vector that occurs twice: products 1 0 0, 0 1 0 and so on of pairs 01 02 12.
    b = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])  # 1 0 0: ranks 3, 1.5, 1.5
    c = np.array([[1.0, 0.0], [0.6, 0.8], [0.8, 0.6]])  # 0.6 0.8 0.96: ranks 1, 2, 3
    ranks = np.array([3, 1.5, 1.5]), np.array([1.0, 2.0, 3.0])
    assert rank_correlation(b, c) == pytest.approx(np.corrcoef(*ranks)[0, 1])
    assert np.corrcoef(*ranks)[0, 1] == pytest.approx(-np.sqrt(0.75))
