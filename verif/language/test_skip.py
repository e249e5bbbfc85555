"""Feed-forwards that leave out what is small: golden, and programs with lists and without."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from carrysave.compiler.decoder.chat_options import ChatOptions
from carrysave.compiler.decoder.compile import ProgramDecoder, block_of, compile_decoder
from carrysave.compiler.decoder.folder import load_model
from carrysave.compiler.decoder.program_folder import compile_file
from carrysave.compiler.decoder.recurrent import decoder_of
from carrysave.compiler.decoder.skip import Skipped, skipping, with_skips
from carrysave.compiler.decoder.summary import lines, summary
from carrysave.compiler.decoder.units import GOLDEN, thresholded
from carrysave.compiler.front.decoder import Model
from carrysave.compiler.front.gguf import load
from carrysave.compiler.program.program import Program
from carrysave.compiler.program.steps import Start
from carrysave.compiler.run.golden import execute
from carrysave.compiler.target.target import Target
from carrysave.driver.job import Job
from carrysave.errors import ArgumentError
from carrysave.weights.gguf import read_gguf
from golden.lut.grouped import FastWeights
from golden.soc.lists import list_bytes, listed
from verif.compiler import runners
from verif.language.test_chat import write
from verif.soc.driver.conftest import library as library

TEXT = np.array([3, 1, 4, 1, 5, 9, 2, 6])
NARROW = "systolic_os(m=2,n=8,b_width=4)"


def tiny(tmp_path: Path, share: float = 0.5) -> Model:
    return skipping(load(read_gguf(write(tmp_path / "m.gguf"))), TEXT, share)


def target(lists: int, engine: str = NARROW) -> Target:
    return Target(block_of({"engine": engine, "lists": str(lists)}))


def run(program: Program) -> tuple[np.ndarray, list[float]]:
    """Return logits, and of each job by a list the share of K that is in it."""
    memory, shares = program.memory, list[float]()

    def take(job: Job) -> None:
        if job.places is not None:
            words = memory[job.places : job.places + list_bytes(job.k)].view("<u4")
            there = listed(words.astype(np.int64))
            assert there is not None
            shares.append(float(there.mean()))

    spec, chip = program.target.spec, np.zeros(0, np.uint8)
    decoder = ProgramDecoder(
        program, memory, lambda one: execute(spec, memory, one.start, chip, take), 8
    )
    return decoder.step(TEXT), shares


@pytest.mark.parametrize("share", [0.25, 0.5, 0.9])
def test_a_layer_skips_its_share_of_the_text(share: float, tmp_path: Path) -> None:
    model = tiny(tmp_path, share)
    counts: dict[float, list[float]] = {}

    def count(x: np.ndarray, least: float) -> np.ndarray:
        made = thresholded(x, least)
        counts.setdefault(least, []).append(float((made == 0).mean()))
        return made

    decoder_of(model, cache=8, bits=None, units=replace(GOLDEN, thresholded=count)).step(TEXT)
    assert len(counts) == 4
    # Of the first layer, whose inputs are those of the text; others have what it makes of them.
    first = model.layers[0].skip
    assert first is not None
    assert counts[first.inputs] == [pytest.approx(share, abs=0.02)]


def test_what_is_skipped_is_zero_before_it_is_rounded(tmp_path: Path) -> None:
    """A matrix has the same results as with its rows of zeros for what is skipped."""
    model = tiny(tmp_path)
    layer = model.layers[0]
    assert layer.skip is not None
    x = np.random.default_rng(1).normal(size=(1, 64)).astype(np.float32)
    x[0, :2] = layer.skip.inputs, -layer.skip.inputs
    made = thresholded(x, layer.skip.inputs)
    assert not made[0, :2].any()
    assert np.array_equal(made != 0, np.abs(x) > layer.skip.inputs)


@pytest.mark.parametrize("lists", [0, 32])
@pytest.mark.parametrize("engine", [NARROW, "systolic_os(m=4,n=4)"])
def test_programs_skip_the_same_with_lists_and_without(
    lists: int, engine: str, tmp_path: Path
) -> None:
    """Logits are golden's, bit by bit; with lists, rows of weights are read that are listed."""
    model = tiny(tmp_path)
    program = compile_decoder(model, target(lists, engine), cache=8)
    decoder = decoder_of(model, cache=8, bits=None)
    expected = np.concatenate([decoder.step(TEXT[at : at + 1]) for at in range(len(TEXT))])
    logits, shares = run(program)
    assert np.array_equal(logits, expected)
    assert bool(shares) == bool(lists)
    assert not lists or 0.2 < np.mean(shares) < 0.8
    kinds = {job.vector for step in program.steps if isinstance(step, Start) for job in step.jobs}
    assert ("index" in kinds) == bool(lists)


def test_nothing_is_skipped_by_default(tmp_path: Path) -> None:
    loaded = load_model(write(tmp_path / "m.gguf"))
    model, skipped = with_skips(loaded.model, loaded.words, 0.0, None)
    assert skipped is None
    assert all(layer.skip is None for layer in model.layers)


def test_bytes_of_a_token_are_those_of_rows_that_are_read(tmp_path: Path) -> None:
    loaded = load_model(write(tmp_path / "m.gguf"))
    every, half = (
        summary(loaded, 8, 8, None if share is None else Skipped(share=share, tokens=8))
        for share in (None, 0.5)
    )
    feeds: list[FastWeights] = [
        layer.matrices[name]
        for layer in loaded.model.layers
        for name in ("ffn_gate", "ffn_up", "ffn_down")
    ]
    codes = sum(one.integers.size for one in feeds) // 2
    assert every["token_bytes"] - half["token_bytes"] == codes // 2
    assert "50 %" in " ".join(lines(half))


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"skip": 1.0}, "below 1"),
        ({"skip": -0.1}, "0 or more"),
        ({"calibration": Path("a.txt")}, "needs"),
    ],
)
def test_options_that_cannot_be(options: dict[str, Any], text: str) -> None:
    with pytest.raises(ArgumentError, match=text):
        ChatOptions(**options).check()


def test_the_c_driver_takes_lists(library: Any, tmp_path: Path) -> None:
    """A program with lists leaves the same logits by the C driver as by golden."""
    program = compile_decoder(tiny(tmp_path), target(32), cache=8)
    wanted, shares = run(program)
    assert shares
    ours = ProgramDecoder(program, *runners.on_c(library)(program), 8)
    assert np.array_equal(ours.step(TEXT), wanted)


def test_a_file_is_compiled_with_its_lists(tmp_path: Path) -> None:
    """As `compile --skip` does; without lists, zeros are multiplied, to the same logits."""
    path = write(tmp_path / "m.gguf")
    made = [compile_file(path, target(lists), cache=8, bits=None, skip=0.5)[0] for lists in (0, 32)]
    (dense, none), (sparse, shares) = map(run, made)
    assert np.array_equal(dense, sparse)
    assert (len(none), len(shares) > 0) == (0, True)
    assert 0.3 < np.mean(shares) < 0.7
    for share in (-0.1, 1):
        with pytest.raises(ArgumentError, match="skip"):
            compile_file(path, target(0), cache=8, bits=None, skip=share)
