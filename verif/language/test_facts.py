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
from carrysave.compiler.front.text_tokens import Vocabulary, vocabulary_of
from carrysave.weights.gguf import read_gguf
from carrysave.weights.gguf_tensor import KINDS
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
STRANGE = "a value that no model has"
COMPUTED = (
    "llama.",
    "tokenizer.",
    "split.",
    "adapter.",
    "clip.",
    "diffusion.",
    "xielu.",
    "general.architecture",
    "general.alignment",
    "general.type",
)
HARMLESS_NAMES = (
    facts.HARMLESS
    | {
        "llama.rope.scaling.finetuned",
        "llama.rope.scaling.yarn_log_multiplier",
        "tokenizer.chat_template",
        "tokenizer.ggml.scores",
    }
    | {one for one in ALL if one.startswith("tokenizer.chat_template.")}
)
"""A template may be any text; pairs of bytes have no scores."""
ELSEWHERE = {
    "general.architecture": "architecture",
    "general.alignment": "alignment",
    "tokenizer.ggml.model": "vocabulary must be llama",
    "tokenizer.ggml.pre": "vocabulary must be llama",
}
"""What else names a fact in a message."""
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
    counts = {"taken": 0, "refused": 0}
    for number, name in enumerate([*ALL, "llama.a_fact_of_tomorrow"]):
        path = write(tmp_path / f"{number}.gguf", {name: STRANGE})
        says = refusal(path)
        path.unlink()
        harmless = name in HARMLESS_NAMES or not name.startswith(COMPUTED)
        assert harmless == (says is None), (name, says)
        if says is not None:
            assert ELSEWHERE.get(name, name.removeprefix("tokenizer.ggml.")) in says
        counts["taken" if harmless else "refused"] += 1
    print(f"facts: {len(ALL)} kinds, {counts}")
    assert sum(counts.values()) == len(set(ALL)) + 1 > 250
    assert counts["refused"] > 120
    # Each list is of names that exist, but for former ones.
    known = facts.USED | facts.HARMLESS | set(facts.CHECKED)
    assert known <= {*ALL, "tokenizer.ggml.cls_token_id"}


def refusal(path: Path) -> str | None:
    """Return why a model is refused; None: it is taken."""
    try:
        whole(path)
    except FileError as error:
        return str(error)
    return None


def whole(path: Path) -> Vocabulary:
    """Read all of a model."""
    file = read_gguf(path)
    return vocabulary_of(file.path, file.facts, load(file).shape.words)


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
        ("llama.expert_used_count", 4, "must be 0, not 4"),
        ("llama.vocab_size", 7, f"must be {len(TOKENS)}, not 7"),
        ("llama.attention.causal", False, "must be True, not False"),
        ("split.count", 2, "must be 0 or 1, not 2"),
        ("split.tensors.count", 2, "must be [0-9]+, not 2"),
        ("tokenizer.ggml.add_eos_token", True, "must be False, not True"),
    ):
        with pytest.raises(FileError, match=f"{name}'?:? {says}"):
            load(read_gguf(write(tmp_path / "w.gguf", legal | {name: wrong})))


@pytest.mark.parametrize(
    ("own", "says"),
    [
        ({"llama.rope.scaling.type": "ntk"}, "type must be one of none, linear, yarn, longrope"),
        ({"llama.rope.scaling.type": "longrope"}, "rope_factors_short.weight': must be there"),
        ({"llama.rope.scaling.attn_factor": 2.0}, "attn_factor must be 1.0, not 2.0"),
        ({"llama.attention.head_count": 3}, "width must be 32..4096, heads of 2, 4, ... 512"),
        ({"llama.attention.key_length": 24}, "value_length|attn_q.weight"),
        ({"llama.rope.dimension_count": 5}, "turned must be 2..32, not 5"),
        ({"llama.expert_count": 4}, "expert_used_count must be 1..4, not 0"),
        ({"llama.block_count": 1 << 20}, "block_count must be at most 20, the tensors, not"),
        ({"llama.logit_scale": float("nan")}, "logit_scale must be -inf or more, not nan"),
        ({"llama.rope.scaling.factor": 0.0}, "factor must be above 0, not 0.0"),
        ({EPSILON: -1.0}, "epsilon must be 0..1, not -1.0"),
        ({"llama.rope.freq_base": 2e9}, "freq_base must be 1..1e.09, not 2000000000.0"),
    ],
)
def test_facts_out_of_range(own: dict[str, Any], says: str, tmp_path: Path) -> None:
    with pytest.raises(FileError, match=says):
        load(read_gguf(write(tmp_path / "m.gguf", own)))


def test_largest_base_is_taken(tmp_path: Path) -> None:
    path = write(tmp_path / "m.gguf", {"llama.rope.freq_base": 1e9})
    rope = load(read_gguf(path)).layers[0].rope
    assert rope is not None
    assert rope.frequencies[1] == pytest.approx(1e9 ** (-2 / HEAD))


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
    """What is read is told from what is not."""
    unread = {int(one): one.name for one in gguf.GGMLQuantizationType if int(one) not in KINDS}
    assert set(unread.values()) == {"Q8_1", "I8", "I16", "I32", "I64", "F64", "Q1_0"}
    for number, name in unread.items():
        data = bytearray(write(tmp_path / "k.gguf").read_bytes())
        at = data.index(b"token_embd.weight") + len("token_embd.weight") + 4 + 16
        data[at : at + 4] = number.to_bytes(4, "little")
        (tmp_path / "k.gguf").write_bytes(data)
        with pytest.raises(FileError, match=f"not {name}$"):
            read_gguf(tmp_path / "k.gguf")
