"""Facts and tensors of GGUF files: each is used, changes nothing, or is refused by its name."""

import inspect
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest

from carrysave.compiler.decoder.attention import Decoder
from carrysave.compiler.front import facts
from carrysave.compiler.front.gguf import load
from carrysave.compiler.front.text_tokens import Vocabulary
from carrysave.weights.gguf import read_gguf
from hw.emit.user_files import FileError
from scripts.language.float_units import FLOATS
from verif.language.test_chat import HEAD, TENSORS, TOKENS, WIDTH, floats, write

ALL = sorted(
    value.replace("{arch}", "llama").replace("{dense}", "dense").replace("{id}", "0")
    for group in vars(gguf.constants.Keys).values()
    if inspect.isclass(group)
    for name, value in vars(group).items()
    if isinstance(value, str) and not name.startswith("__")
)
BIASES = {name: shape[0] for name, shape in TENSORS.items()}


def biases(scale: float = 0.5) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(5)
    return {
        f"blk.{number}.{name}.bias": rng.normal(0, scale, size)
        for number in range(2)
        for name, size in BIASES.items()
    }


FREQUENCIES = np.linspace(1, 8, HEAD // 2).astype(np.float32)
EPSILON = "llama.attention.layer_norm_rms_epsilon"
HALF = float(np.float32(1e-5))
CHANGES: list[tuple[str, dict[str, Any], dict[str, np.ndarray], float, dict[str, Any]]] = [
    ("biases", {}, biases(), 1.0, {}),
    ("queries", {}, {f"blk.{n}.attn_q.bias": np.full(WIDTH, 0.7) for n in (0, 1)}, 1.0, {}),
    ("epsilon", {EPSILON: 0.5}, {}, 1.0, {"epsilon": 0.5}),
    ("small", {EPSILON: HALF}, {}, 1e-3, {"epsilon": HALF}),
    (
        "linear",
        {"llama.rope.scaling.type": "linear", "llama.rope.scaling.factor": 4.0},
        {},
        1.0,
        {"factors": 4.0},
    ),
    ("no_kind", {"llama.rope.scaling.factor": 4.0}, {}, 1.0, {"factors": 4.0}),
    ("none", {"llama.rope.scaling.type": "none", "llama.rope.scaling.factor": 4.0}, {}, 1.0, {}),
    ("former", {"llama.rope.scale_linear": 2.0}, {}, 1.0, {"factors": 2.0}),
    ("tensor", {}, {"rope_freqs.weight": FREQUENCIES}, 1.0, {"factors": FREQUENCIES}),
]


@pytest.mark.parametrize("case", CHANGES, ids=lambda case: case[0])
def test_what_changes_a_model_is_computed(case: Any, tmp_path: Path) -> None:
    """In floats as the formulas do; in golden's units as near as without."""
    _, own, tensors, small, how = case
    path = write(tmp_path / "m.gguf", own, tensors, embedding=small)
    tokens = np.random.default_rng(1).integers(0, len(TOKENS), 24)
    model, wanted = load(read_gguf(path)), floats(path, tokens, **how)

    def error(found: np.ndarray) -> float:
        return float(np.linalg.norm(found - wanted) / np.linalg.norm(wanted))

    assert error(Decoder(model, cache=32, units=FLOATS).step(tokens)) < 1e-6
    assert error(Decoder(model, cache=32).step(tokens)) < 0.04
    if case[0] != "none":
        # It does change the model: what ignores it is far off.
        assert error(floats(write(tmp_path / "p.gguf", embedding=small), tokens)) > 0.05


def test_facts_are_used_or_harmless_or_refused(tmp_path: Path) -> None:
    """Of all that the format's own library knows, and one that nobody does."""
    counts = dict.fromkeys(("used", "harmless", "checked", "refused"), 0)
    for number, name in enumerate([*ALL, "llama.a_fact_of_tomorrow"]):
        kind = facts.judged(name)
        counts[kind] += 1
        if kind in ("used", "harmless"):
            continue
        path = write(tmp_path / f"{number}.gguf", {name: "a value that no model has"})
        with pytest.raises(FileError, match=f"fact '{name}'") as error:
            load(read_gguf(path))
        assert "a value that no model has" in str(error.value)
        path.unlink()
    print(f"facts: {len(ALL)} kinds, {counts}")
    assert sum(counts.values()) == len(set(ALL)) + 1 > 250
    assert counts["refused"] > 100
    # Each list is of names that exist, but for former ones.
    former = {"llama.rope.scale_linear", "tokenizer.ggml.cls_token_id"}
    assert facts.USED | facts.HARMLESS | set(facts.CHECKED) <= {*ALL, *former}


def test_facts_that_are_used_are_read(tmp_path: Path) -> None:
    """A value of the wrong kind is refused, which could not be if nobody looked."""
    template = "tokenizer.chat_template"
    for number, name in enumerate(sorted(facts.USED - {template})):
        wrong: Any = 7 if name.startswith("tokenizer.ggml.pre") else "a text"
        path = write(tmp_path / f"{number}.gguf", {name: wrong})
        with pytest.raises(FileError):
            whole(path)
        path.unlink()
    vocabulary = whole(write(tmp_path / "t.gguf", {template: "he{{ messages[0].content }}"}))
    assert list(vocabulary.question("ll")) == list(vocabulary.tokens("hell"))


def whole(path: Path) -> Vocabulary:
    """Read all of a model."""
    file = read_gguf(path)
    return Vocabulary(file, load(file).shape.words)


def test_values_that_change_nothing_are_taken(tmp_path: Path) -> None:
    legal = {
        "general.type": "model",
        "llama.vocab_size": len(TOKENS),
        "llama.attention.key_length": HEAD,
        "llama.attention.value_length": HEAD,
        "llama.attention.causal": True,
        "llama.attention.sliding_window": 0,
        "llama.expert_count": 0,
        "llama.rope.scaling.attn_factor": 1.0,
        "split.count": 1,
        "tokenizer.ggml.add_bos_token": False,
        "tokenizer.ggml.eot_token_id": len(TOKENS) - 1,
        "imatrix.chunk_count": 7,
        "tokenizer.ggml.bos_token_id": 3,
        "tokenizer.chat_template.tool_use": "{{ 1 }}",
    }
    load(read_gguf(write(tmp_path / "m.gguf", legal)))
    for name, wrong, says in (
        ("llama.expert_count", 4, "must be 0, not 4"),
        ("llama.attention.sliding_window", 8, "must be 0, not 8"),
        ("llama.vocab_size", 7, f"must be {len(TOKENS)}, not 7"),
        ("split.count", 2, "must be 0 or 1, not 2"),
        ("tokenizer.ggml.add_bos_token", True, "must be False, not True"),
    ):
        with pytest.raises(FileError, match=f"fact '{name}': {says}"):
            load(read_gguf(write(tmp_path / "w.gguf", legal | {name: wrong})))


@pytest.mark.parametrize(
    ("own", "says"),
    [
        ({"llama.rope.scaling.type": "yarn"}, "type must be none or linear, not 'yarn'"),
        ({"llama.rope.scaling.factor": 0.0}, "factor must be above 0, not 0.0"),
        ({EPSILON: -1.0}, "epsilon must be 0..1, not -1.0"),
        ({"llama.rope.freq_base": 2e9}, "freq_base must be 1..1e9, not 2000000000.0"),
    ],
)
def test_facts_out_of_range(own: dict[str, Any], says: str, tmp_path: Path) -> None:
    with pytest.raises(FileError, match=says):
        load(read_gguf(write(tmp_path / "m.gguf", own)))


def test_largest_base_is_taken(tmp_path: Path) -> None:
    path = write(tmp_path / "m.gguf", {"llama.rope.freq_base": 1e9})
    assert load(read_gguf(path)).shape.base == 1e9


def test_tensors_are_used_or_refused(tmp_path: Path) -> None:
    """Of all names that the format's own library has."""
    arch = gguf.MODEL_ARCH.LLAMA
    names = {form.format(bid=0) for form in gguf.TENSOR_NAMES.values()}
    every = {f"{name}.{end}" for name in names for end in ("weight", "bias")}
    path = write(tmp_path / "m.gguf")
    known = set(read_gguf(path).tensors) | set(biases()) | {"rope_freqs.weight", "output.weight"}
    strange = sorted(every - known)
    for number, name in enumerate(strange[:: max(1, len(strange) // 40)]):
        path = write(tmp_path / f"{number}.gguf", {}, {name: np.ones(4)})
        with pytest.raises(FileError, match=f"tensor '{name}': is not known here"):
            load(read_gguf(path))
        path.unlink()
    print(f"tensors: {len(every)} names, {len(strange)} refused; {arch.name}")
    assert len(strange) > 400


def test_kinds_are_named(tmp_path: Path) -> None:
    path = write(tmp_path / "f.gguf", matrices="F16")
    with pytest.raises(FileError) as error:
        load(read_gguf(path))
    assert str(error.value).count("blk.0.attn_q.weight") == 1
    assert (
        "must be a matrix of codes with scales (Q4_0, Q4_1, Q5_0, Q5_1, Q8_0), not F16 of "
        in str(error.value)
    )
    for number, name in gguf_kinds().items():
        data = bytearray(write(tmp_path / "k.gguf").read_bytes())
        at = data.index(b"token_embd.weight") + len("token_embd.weight") + 4 + 16
        data[at : at + 4] = number.to_bytes(4, "little")
        (tmp_path / "k.gguf").write_bytes(data)
        with pytest.raises(FileError, match=f"not {name}$"):
            read_gguf(tmp_path / "k.gguf")


def gguf_kinds() -> dict[int, str]:
    """Return names of kinds of tensors that are not read, by number."""
    read = {"F32", "F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0"}
    return {int(kind): kind.name for kind in gguf.GGMLQuantizationType if kind.name not in read}
