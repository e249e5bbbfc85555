"""``carrysave chat`` of models of characters: refused where wrong, golden's on the block."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from carrysave.compiler.decoder.compile import compile_decoder, core_block
from carrysave.compiler.front.decoder import FORMS
from carrysave.compiler.front.text import FORMATS, load_text
from carrysave.compiler.program.steps import Start
from carrysave.compiler.target.target import Target
from verif.language.test_text import CHARACTERS, SIZES, write
from verif.support.command import Run


@pytest.mark.prove
def test_chat_continues_on_a_simulated_ternary_core(run: Run, tmp_path: Path) -> None:
    """All jobs of a prompt and a character after it; and whole sums, not of groups.

    The core's largest K is the model's width: nothing is as long as its context, of 48.
    """
    path = write(tmp_path / "m.npz", "recurrent", layers=1, width=32, hidden=32, heads=1)
    chat = ("chat", "m.npz", "--prompt", "ab", "--tokens", "2")
    plain = json.loads(run(*chat, "--json").out)
    more = ("engine=ternary_core(m=1,n=8,k=10,k_max=32)", "trits=true")
    code, out, err = run(
        *chat,
        "--simulate",
        "all",
        "--core",
        "ternary_core",
        "--json",
        *(word for one in more for word in ("-p", one)),
    )
    assert code == 0, err
    facts: dict[str, Any] = json.loads(out)
    found = facts["simulation"]
    assert facts["text"] == plain["text"]
    assert (len(facts["text"]), found["wrong"]) == (2, {})
    assert found["jobs"] == found["of_jobs"] == dict.fromkeys(
        ("rms_norm", "mix_forget", "mix_candidate", "mix_gate", "silu", "mix_output", "ffn_gate",
         "ffn_up", "ffn_down", "output"), 3,
    ) | {"rms_norm": 3 * 5, "silu": 3 * 2}  # fmt: skip
    target = Target(core_block("ternary_core", dict(one.split("=", 1) for one in more)))
    program = compile_decoder(load_text(path)[0], target, cache=8)
    jobs = [
        (step.node, job) for step in program.steps if isinstance(step, Start) for job in step.jobs
    ]
    (job,) = (job for node, job in jobs if node == "output")
    assert (job.m, job.n, job.k) == (1, len(CHARACTERS), 32)


def test_chat_refuses_models_of_characters_in_one_line(run: Run, tmp_path: Path) -> None:
    write(tmp_path / "m.npz")
    write(tmp_path / "r.npz", "recurrent")
    whole = (tmp_path / "m.npz").read_bytes()
    (tmp_path / "short.npz").write_bytes(whole[:-100])
    np.savez(tmp_path / "other.npz", weights=np.zeros(3))

    def changed(name: str, **arrays: np.ndarray | None) -> None:
        with np.load(tmp_path / "m.npz") as file:
            own = {one: file[one] for one in file.files} | arrays
        np.savez(tmp_path / name, **{one: array for one, array in own.items() if array is not None})

    def headed(name: str, **changes: Any) -> None:
        text = json.dumps(
            {"kind": "carrysave text", "form": "attention", "format": "w1.58a8"} | SIZES | changes
        )
        changed(name, header=np.frombuffer(text.encode(), np.uint8))

    changed("gone_gain.npz", norm=None)
    changed("shape.npz", **{"0.ffn_up.codes": np.zeros((96, 64), np.uint8)})
    changed("codes.npz", **{"1.attn_q.codes": np.full((64, 64), 3, np.uint8)})
    changed("nan.npz", **{"1.attn_q.scales": np.full((1, 64), np.nan)})
    headed("form.npz", form="convolution")
    headed("heads.npz", heads=3)
    headed("letters.npz", characters="aa")
    headed("kind.npz", kind="else")
    headed("bell.npz", characters="ab\a")
    changed("floats.npz", header=np.full(9, np.nan))
    changed("large.npz", **{"1.attn_q.scales": np.full((1, 64), 1e9)})
    for arguments, says in (
        (
            ("m.npz", "--prompt", "x"),
            "--prompt must be of the model's 10 characters, which have no 'x'",
        ),
        (("m.npz", "--prompt", "a" * 48), "--prompt must be 1..47 tokens, so that the cache of 48"),
        (("r.npz", "--prompt", "a" * 48), "--prompt must be 1..47 tokens, so that 48 hold it and"),
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
        (("bell.npz",), "characters must be printable, ends of lines or tabs, not 'ab\\x07'"),
        (("floats.npz",), "header: must be bytes"),
        (("large.npz",), "array '1.attn_q.scales': must be within fp16"),
    ):
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
    write(tmp_path / "m.npz", form, bits)
    code, out, err = run("chat", "m.npz", "--prompt", "ab", "--tokens", "3", "--simulate", "all",
                         "--core", core, "--json")  # fmt: skip
    assert code == 0, err
    found = json.loads(out)["simulation"]
    assert (found["wrong"], found["jobs"]) == ({}, found["of_jobs"])
    assert {*FORMS[form], "rms_norm", "output"} <= set(found["jobs"])


@pytest.mark.prove
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("core", ["lut_core", "shift_add_core", "ternary_core"])
def test_64_characters_on_the_block_are_goldens(
    run: Run, tmp_path: Path, form: str, core: str
) -> None:
    """Of a model as large as those that are trained, 1.2 M parameters."""
    write(
        tmp_path / "m.npz",
        form,
        layers=4,
        width=160,
        hidden=416,
        heads=5,
        context=128,
        characters="\n" + "".join(map(chr, range(32, 127))),
    )
    code, out, err = run("chat", "m.npz", "--prompt", "The ", "--tokens", "64", "--simulate", "all",
                         "--core", core, "--json")  # fmt: skip
    assert code == 0, err
    facts = json.loads(out)
    found = facts["simulation"]
    assert (facts["tokens"], found["wrong"], found["jobs"]) == (64, {}, found["of_jobs"])
    assert found["jobs"]["output"] == 4 + 63
