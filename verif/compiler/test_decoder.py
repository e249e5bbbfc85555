"""A decoder as a program: the logits of the numpy decoder, and the same bytes on every runner."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from carrysave.compiler.decoder.compile import (
    ProgramDecoder,
    block_of,
    compile_decoder,
)
from carrysave.compiler.decoder.recurrent import decoder_of
from carrysave.compiler.front.decoder import Model
from carrysave.compiler.front.gguf import load
from carrysave.compiler.front.text import load_text
from carrysave.compiler.program.program import Program
from carrysave.compiler.program.steps import Start
from carrysave.compiler.program.write import FORMAT
from carrysave.compiler.run.stepwise import comparable
from carrysave.compiler.target.target import Target
from carrysave.weights.gguf import read_gguf
from verif.compiler import runners
from verif.language import test_chat, test_text
from verif.soc.driver.conftest import library as library
from verif.support.command import Run
from verif.support.schemas import check

ENGINE = "engine=systolic_os(m=4,n=4)"
TARGET = Target(block_of(dict([ENGINE.split("=", 1)])))
CACHE = 16
EPSILON = {"llama.attention.layer_norm_rms_epsilon": 1e-5}


def gguf(folder: Path, **more: Any) -> Model:
    rng = np.random.default_rng(2)
    biases = {f"blk.{number}.attn_q.bias": rng.normal(size=64) for number in range(2)}
    return load(read_gguf(test_chat.write(folder / "m.gguf", EPSILON, biases, **more)))


def text(folder: Path, form: str, bits: str, **changes: Any) -> Model:
    return load_text(test_text.write(folder / "m.npz", form, bits, **changes))[0]


def running(program: Program, on: runners.On) -> tuple[ProgramDecoder, np.ndarray]:
    """Return what runs a program on a runner, and its memory."""
    memory, runner = on(program)
    return ProgramDecoder(program, memory, runner, CACHE), memory


MODELS: list[tuple[Callable[[Path], Model], int | None]] = [
    (gguf, 8),
    (lambda folder: gguf(folder, matrices="Q8_0"), 4),
    (lambda folder: text(folder, "recurrent", "w1.58a8"), None),
    (lambda folder: text(folder, "recurrent", "w2a8"), None),
    (lambda folder: text(folder, "attention", "w4a4", width=128, heads=2), 4),
    (lambda folder: text(folder, "attention", "w1.58a8", width=128, heads=2), 8),
]


@pytest.mark.sample(4)
@pytest.mark.parametrize(("make", "bits"), MODELS)
def test_logits_are_the_decoders(
    make: Callable[[Path], Model], bits: int | None, tmp_path: Path
) -> None:
    """Of a prompt and 8 further tokens, each by each; of a prompt that begins again."""
    model = make(tmp_path)
    program = compile_decoder(model, TARGET, cache=CACHE, bits=bits)
    assert not program.host
    own, _ = running(program, runners.on_golden)
    tokens = np.random.default_rng(1).integers(0, model.shape.words, 13)
    wanted = decoder_of(model, cache=CACHE, bits=bits)
    # The first step's keys have a say in those of 4 bits.
    first = [tokens[:5]] if bits != 4 else np.split(tokens[:5], [1])
    expected = np.concatenate([wanted.step(part) for part in (*first, *tokens[5:, None])])
    found = np.concatenate([own.step(part) for part in (tokens[:5], *tokens[5:, None])])
    assert np.array_equal(found, expected)
    assert len(np.unique(expected.argmax(axis=1))) > 1
    if bits is not None:
        own.length = 0
        assert np.array_equal(own.step(tokens[:3]), expected[:3])


ENGINES = {
    "tables": {
        "engine": "lut_core(m=1,n=8,b_width=4,group=2,lookups=4,folded=False,parallel=True)"
    },
    "2 bits": {"engine": "systolic_os(m=2,n=8,b_width=2)"},
    "additions": {"engine": "shift_add_core(m=1,n=8,b_width=4,k=16)"},
    "trits": {"engine": "ternary_core(m=1,n=8,k=20)", "trits": "true"},
}


@pytest.mark.sample(3)
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("make", "bits"), [MODELS[1], MODELS[2]])
def test_narrower_weights_come_as_digits(
    engine: str, make: Callable[[Path], Model], bits: int | None, tmp_path: Path
) -> None:
    """Logits are the same; products of attention are the processor's."""
    model, target = make(tmp_path), Target(block_of(ENGINES[engine]))
    program = compile_decoder(model, target, cache=CACHE, bits=bits)
    own, _ = running(program, runners.on_golden)
    wanted = decoder_of(model, cache=CACHE, bits=bits)
    for token in (7, 1, 7):
        tokens = np.array([token])
        assert np.array_equal(own.step(tokens), wanted.step(tokens))
    starts = [step for step in program.steps if isinstance(step, Start)]
    layers = [one for layer in model.layers for one in layer.matrices.values()]
    # The matrix to the words may have all digits of a weight in one product.
    for matrices, at_end in ((layers, False), ([model.head], True)):
        jobs = [one for step in starts if (step.node == "output") == at_end for one in step.jobs]
        products = sum(job.vector is None for job in jobs)
        assert products
        assert products % sum(len(one.integers) for one in matrices) == 0


@pytest.mark.parametrize("runner", ["driver", "c"])
def test_runners_leave_the_same_bytes(runner: str, library: Any, tmp_path: Path) -> None:
    """With a cache of 4 bits, after each of several tokens, in all of memory."""
    on = {"driver": runners.on_driver, "c": runners.on_c(library)}[runner]
    program = compile_decoder(gguf(tmp_path), TARGET, cache=CACHE, bits=4)

    def zeros(program: Program) -> tuple[np.ndarray, Any]:
        memory, golden = runners.on_golden(program)
        memory[:] = program.memory
        return memory, golden

    (ours, memory), (theirs, other) = (running(program, one) for one in (zeros, on))
    for token in (3, 1, 4):
        ours.step(np.array([token]))
        theirs.step(np.array([token]))
        differ = comparable(program, memory) != comparable(program, other)
        assert not np.flatnonzero(differ).size


@pytest.mark.parametrize("kind", ["m.gguf", "m.npz"])
def test_chat_takes_what_compile_writes(run: Run, kind: str, tmp_path: Path) -> None:
    """From the files alone: the answer is that of the model."""
    if kind == "m.gguf":
        test_chat.write(tmp_path / kind, EPSILON, template="{{ messages[0]['content'] }}!")
    else:
        test_text.write(tmp_path / kind, "recurrent")
    chosen = "-p", ENGINE, "-p", f"sparse={kind == 'm.gguf'}".lower()
    done = run("compile", kind, *chosen, "-o", "out", "--cache", "12", "--json")
    assert done.code == 0, done.err
    assert ("B of 0 of 36 products is in memory without" in done.err) == (kind == "m.gguf")
    found = check("compile", done.out)
    assert found["host_segments"] == 0
    there = sorted(tmp_path.rglob("*"))
    done = run("estimate", kind, *chosen, "--cache", "12", "--json")
    ours = {"command": "", "files": []}
    assert check("compile", done.out) | ours == found | ours
    assert sorted(tmp_path.rglob("*")) == there
    assert "--state must be left out of m." in run("estimate", kind, "--batch", "2").err
    assert all(one["jobs"] or one["numbers"] for one in found["nodes"])
    assert {one["runs_on"] for one in found["nodes"]} == {"block", "processor"}
    assert {"RMSNormalization", "MatMul", "SiLU"} <= {
        one["operator"] for one in found["nodes"] if one["runs_on"] == "block"
    }
    for one in found["nodes"]:
        if one["runs_on"] == "block":  # what it multiplies by, at least
            assert one["bus_bytes"] >= one["macs"] * (one["operator"] == "MatMul")
            assert one["cycles"] > 0
    chat = ("--prompt", "hello" if kind == "m.gguf" else "abc", "--tokens", "9", "--json")
    first, second = (
        json.loads(run("chat", model, *chat, *more).out)
        for model, more in (("out/compile/m", ()), (kind, ("--cache", "12")))
    )
    same = ("text", "prompt_tokens", "tokens", "ended")
    assert {name: first[name] for name in same} == {name: second[name] for name in same}
    lines = Path(tmp_path, "out/compile/m/program.txt").read_text().splitlines()
    assert sum(line.startswith("floats ") for line in lines) == found["float_steps"] > 30
    assert "parameter token 0.." in lines[1]


def test_folders_that_are_no_decoders_are_refused(run: Run, tmp_path: Path) -> None:
    test_text.write(tmp_path / "m.npz", "recurrent")
    assert run("compile", "m.npz", "-p", ENGINE, "-o", "out", "--cache", "12").code == 0
    folder = tmp_path / "out/compile/m"
    manifest = (folder / "program.json").read_text()
    for changes, arguments, says in (
        ({}, ("--kv", "8"), "--kv, --keys, --attention and --simulate must be left out"),
        ({}, ("--prompt", "z"), "--prompt must be of the model's 10 characters"),
        ({"format": 1}, (), f"program.json: format must be {FORMAT}, not 1"),
        ({"bytes": 7}, (), "memory.bin: must be of 7 bytes, not "),
        ({"decoder": None}, (), "program.json: decoder: "),
        ({"outputs": []}, (), "program.json: decoder: 'logits'"),
        ({"target": {"engine": "none"}}, (), "program.json: "),
        (
            {"decoder": {"cache": 9, "vocabulary": {"characters": "ab"}}},
            (),
            "vocabulary must be of 10 words, not 2",
        ),
    ):
        (folder / "program.json").write_text(json.dumps(json.loads(manifest) | changes))
        prompt = () if "--prompt" in arguments else ("--prompt", "abc")
        done = run("chat", "out/compile/m", *prompt, *arguments)
        assert (done.code, done.out) == (2, ""), done.err
        assert says in done.err
        assert done.err.count("\n") == 1
    for arguments, says in (
        (
            ("--batch", "2"),
            "--timeline, --batch-axis, --constant and --state must be left out of m.npz",
        ),
        (("--cache", "49"), ""),
        (("--cache", "0"), "--cache must be 1..48 tokens, not 0"),
        (("--kv", "8"), "--kv must be left out, as the model has no cache, not 8"),
    ):
        done = run("compile", "m.npz", "-p", ENGINE, "-o", "more", *arguments)
        assert done.code == (2 if says else 0)
        assert says in done.err


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"engine": "systolic_os(m=4,n=4,a_width=4)"}, r"A of int8, not -8\.\.7"),
        ({"engine": "npe(m=2,n=4,formats=int8,int4)"}, "engine must have one format of integers"),
        (
            {"engine": "systolic_os(m=4,n=4,k_max=16)"},
            r"K must be 1\.\.16, the engine's k_max, not 32",
        ),
        ({"vector": "none"}, "vector must be vector_unit"),
        ({"vector": "vector_unit(width=12)"}, "vector must be vector_unit"),
    ],
)
def test_other_blocks_are_refused(parameters: dict[str, str], says: str, tmp_path: Path) -> None:
    target = Target(block_of({"engine": "systolic_os(m=4,n=4)", **parameters}))
    with pytest.raises(ValueError, match=says):
        compile_decoder(gguf(tmp_path), target, cache=CACHE)
