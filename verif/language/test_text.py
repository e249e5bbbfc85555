"""Models of characters in few bits: near their floats, refused where wrong, golden on the block."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from carrysave.errors import UsageError
from carrysave.language.recurrent import decoder_of
from carrysave.language.simulate import CORES, block_of
from carrysave.language.text import FORMATS, FORMS, gains_of, load_text, matrices_of, save_text
from carrysave.language.units import FLOATS, GOLDEN, Units, moved, sigmoid
from carrysave.language.watch import Job, ProductJob, watched
from carrysave.language.works import check
from carrysave.networks.target import Target
from verif.support.command import Run

CHARACTERS = "abcdefgh \n"
SIZES = {
    "layers": 2, "width": 64, "hidden": 96, "heads": 2, "context": 48, "cache_bits": 4,
    "characters": CHARACTERS,
}  # fmt: skip


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
        own = {name.partition(".")[2]: one for name, one in weights.items()
               if name.startswith(f"{layer}.")}  # fmt: skip
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
    found = moved(np.ldexp(np.array(states, float), -16), np.ldexp(np.array(keeps, float), -15),
                  np.ldexp(np.array(fresh, float), -8))  # fmt: skip
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
    codes = np.ldexp(found, 15)
    assert np.array_equal(codes, np.rint(codes))
    assert sigmoid(np.array([0.0, 1e9, -1e9])).tolist() == [0.5, 1, 0]


@pytest.mark.parametrize("form", FORMS)
def test_decoder_makes_the_same_of_tokens_one_by_one(tmp_path: Path, form: str) -> None:
    model, _ = load_text(write(tmp_path / "m.npz", form))
    tokens = np.random.default_rng(1).integers(0, len(CHARACTERS), 9)
    whole, decoder = (decoder_of(model, cache=9, bits=None) for _ in range(2))
    first = whole.step(tokens[:4])
    assert np.array_equal(decoder.step(tokens[:4]), first)
    parts = [decoder.step(part) for part in (tokens[4:5], tokens[5:])]
    assert np.array_equal(np.concatenate(parts), whole.step(tokens[4:]))
    with pytest.raises(UsageError, match=r"prompt must be 1\.\.0 tokens"):
        decoder.step(tokens[:1])


def fitting(bits: str) -> Iterator[str]:
    """Name cores that have weights as narrow."""
    yield from ("lut_core", "shift_add_core", "blocks")
    if bits == "w1.58a8":
        yield "ternary_core"
    if bits == "w4a4":
        yield "int8"


@pytest.mark.parametrize("bits", FORMATS)
def test_only_cores_with_weights_as_narrow_are_taken(tmp_path: Path, bits: str) -> None:
    model, _ = load_text(write(tmp_path / "m.npz", bits=bits))
    assert model.own is not None
    for core in CORES:
        target = Target(block_of(core, {"vector": "none"}, model.own[0]))
        if core in fitting(bits):
            check(target, 96, model.own)
        else:
            with pytest.raises(ValueError, match=r"core must take the model's weights, \w+ ones"):
                check(target, 96, model.own)


def test_chat_continues_on_a_simulated_ternary_core(run: Run, tmp_path: Path) -> None:
    """All jobs of a prompt and a character after it; and whole sums, not of groups."""
    path = write(tmp_path / "m.npz", "recurrent", layers=1, width=32, hidden=32, heads=1)
    chat = ("chat", "m.npz", "--prompt", "ab", "--tokens", "2", "--cache", "8")
    plain = json.loads(run(*chat, "--json").out)
    engine = "ternary_core(m=1,n=8,k=8,k_max=64)"
    code, out, err = run(*chat, "--simulate", "all", "--core", "ternary_core", "--json",
                         "-p", f"engine={engine}", "-p", "vector=none")  # fmt: skip
    assert code == 0, err
    facts: dict[str, Any] = json.loads(out)
    found = facts["simulation"]
    assert facts["text"] == plain["text"]
    assert (len(facts["text"]), found["wrong"]) == (2, {})
    assert found["jobs"] == found["of_jobs"] == dict.fromkeys(
        ("mix_forget", "mix_candidate", "mix_gate", "mix_output", "ffn_gate", "ffn_up", "ffn_down",
         "head"), 2,
    )  # fmt: skip
    jobs: list[Job] = []
    model, units = watched(load_text(path)[0], jobs.append)
    decoder_of(model, cache=8, bits=None, units=units).step(np.array([0, 1]))
    kinds = {job.kind: job.b for job in jobs if isinstance(job, ProductJob)}
    assert kinds["head"].shape == (32, len(CHARACTERS))
    assert all({*np.unique(b)} == {-1, 0, 1} for b in kinds.values())


def test_chat_refuses_models_of_characters_in_one_line(run: Run, tmp_path: Path) -> None:
    write(tmp_path / "m.npz")
    write(tmp_path / "r.npz", "recurrent")
    write(tmp_path / "wide.npz", bits="w4a4")
    whole = (tmp_path / "m.npz").read_bytes()
    (tmp_path / "short.npz").write_bytes(whole[:-100])
    np.savez(tmp_path / "other.npz", weights=np.zeros(3))

    def changed(name: str, **arrays: np.ndarray | None) -> None:
        with np.load(tmp_path / "m.npz") as file:
            own = {one: file[one] for one in file.files} | arrays
        np.savez(tmp_path / name, **{one: array for one, array in own.items() if array is not None})

    def headed(name: str, **changes: Any) -> None:
        text = json.dumps({"kind": "carrysave text", "form": "attention", "format": "w1.58a8"}
                          | SIZES | changes)  # fmt: skip
        changed(name, header=np.frombuffer(text.encode(), np.uint8))

    changed("gone_gain.npz", norm=None)
    changed("shape.npz", **{"0.ffn_up.codes": np.zeros((96, 64), np.uint8)})
    changed("codes.npz", **{"1.attn_q.codes": np.full((64, 64), 3, np.uint8)})
    changed("nan.npz", **{"1.attn_q.scales": np.full((1, 64), np.nan)})
    headed("form.npz", form="convolution")
    headed("heads.npz", heads=3)
    headed("letters.npz", characters="aa")
    headed("kind.npz", kind="else")
    for arguments, says in (
        (("m.npz", "--prompt", "x"), "--prompt must be of the model's 10 characters, which have no "
                                     "'x'"),
        (("m.npz", "--prompt", "a" * 48), "--prompt must be 1..47 tokens, so that the cache of 48"),
        (("r.npz", "--kv", "8"), "--kv must be left out, as the model has no cache, not 8"),
        (("short.npz",), "short.npz: "),
        (("other.npz",), "other.npz: must be a model of characters, .npz with a header"),
        (("gone_gain.npz",), "array 'norm': must be of (64,), not there"),
        (("shape.npz",), "array '0.ffn_up.codes': must be of (64, 96), not (96, 64)"),
        (("codes.npz",), "codes must be 0..2 where levels are ternary, not 3"),
        (("nan.npz",), "array '1.attn_q.scales': must be finite floats"),
        (("form.npz",), "form must be one of attention, recurrent, not 'convolution'"),
        (("heads.npz",), "heads must be such that width 64 is in heads of 32, 64, ... values"),
        (("letters.npz",), "characters must be a text of 2 characters or more, each once"),
        (("kind.npz",), "header: must be of a model of characters"),
        (("wide.npz", "--simulate", "all", "--core", "ternary_core"),
         "core must take the model's weights, uniform ones of 4 bits, not ternary"),
        (("m.npz", "--simulate", "all", "-p", "engine=shift_add_core(m=1,n=16,b_width=4)"),
         "core must take the model's weights, ternary ones of 2 bits, not 4 bits"),
    ):  # fmt: skip
        prompt = () if "--prompt" in arguments else ("--prompt", "abc")
        code, out, err = run("chat", *arguments, *prompt)
        assert (code, out) == (2, ""), arguments
        assert says in err, (arguments, err)
        assert err.count("\n") == 1


@pytest.mark.prove
@pytest.mark.parametrize("core", ["lut_core", "shift_add_core", "ternary_core"])
@pytest.mark.parametrize("bits", FORMATS)
@pytest.mark.parametrize("form", FORMS)
def test_all_jobs_are_goldens_on_each_core(
    run: Run, tmp_path: Path, form: str, bits: str, core: str
) -> None:
    if core not in fitting(bits):
        pytest.skip("refused, as is tested")
    write(tmp_path / "m.npz", form, bits)
    code, out, err = run("chat", "m.npz", "--prompt", "ab", "--tokens", "3", "--simulate", "all",
                         "--core", core, "--json")  # fmt: skip
    assert code == 0, err
    found = json.loads(out)["simulation"]
    assert (found["wrong"], found["jobs"]) == ({}, found["of_jobs"])
    assert {*FORMS[form], "rms_norm", "head"} <= set(found["jobs"])


@pytest.mark.prove
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("core", ["lut_core", "shift_add_core", "ternary_core"])
def test_64_characters_on_the_block_are_goldens(
    run: Run, tmp_path: Path, form: str, core: str
) -> None:
    """Of a model as large as those that are trained, 1.2 M parameters."""
    write(tmp_path / "m.npz", form, layers=4, width=160, hidden=416, heads=5, context=128,
          characters="".join(map(chr, range(32, 128))))  # fmt: skip
    code, out, err = run("chat", "m.npz", "--prompt", "The ", "--tokens", "64", "--simulate", "all",
                         "--core", core, "--json")  # fmt: skip
    assert code == 0, err
    facts = json.loads(out)
    found = facts["simulation"]
    assert (facts["tokens"], found["wrong"], found["jobs"]) == (64, {}, found["of_jobs"])
    assert found["jobs"]["head"] == 64
