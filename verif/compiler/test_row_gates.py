"""Recurrent decoders whose gates and states are jobs on rows: programs make what golden does."""

from fractions import Fraction
from math import floor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from carrysave.compiler.decoder.compile import block_of, compile_decoder
from carrysave.compiler.decoder.recurrent import decoder_of
from carrysave.compiler.decoder.row_gates import ROW_UNITS, moved, sigmoid
from carrysave.compiler.decoder.units import GOLDEN
from carrysave.compiler.front.text import load_text
from carrysave.compiler.program.floats import Floats
from carrysave.compiler.program.program import Program
from carrysave.compiler.program.steps import Start
from carrysave.compiler.target.target import Target
from scripts.language.float_units import FLOATS
from verif.compiler import runners
from verif.compiler.test_decoder import running
from verif.language.test_text import error, floats, write
from verif.soc.driver.conftest import library as library

ENGINE = {"engine": "ternary_core(m=1,n=16,k=20)", "trits": "true"}
CACHE, TOKENS = 12, (7, 1, 7, 2, 3, 4, 0)


def programs(path: Path) -> tuple[Program, Program]:
    """Return a model's program without such jobs, and with."""
    model, _ = load_text(write(path, "recurrent"))
    targets = (Target(block_of({**ENGINE, "blend": blend})) for blend in ("false", "true"))
    before, after = (compile_decoder(model, target, cache=CACHE) for target in targets)
    return before, after


def test_programs_make_what_golden_does(tmp_path: Path) -> None:
    path = tmp_path / "m.npz"
    for program, units in zip(programs(path), (GOLDEN, ROW_UNITS), strict=True):
        ours, _ = running(program, runners.on_golden)
        wanted = decoder_of(load_text(path)[0], cache=CACHE, bits=None, units=units)
        for token in TOKENS:
            tokens = np.array([token])
            assert np.array_equal(ours.step(tokens), wanted.step(tokens))


def test_the_c_driver_leaves_the_same_logits(library: Any, tmp_path: Path) -> None:
    _, program = programs(tmp_path / "m.npz")
    ours, theirs = (running(program, one)[0] for one in (runners.on_golden, runners.on_c(library)))
    for token in TOKENS[:3]:
        tokens = np.array([token])
        assert np.array_equal(ours.step(tokens), theirs.step(tokens))


def test_the_host_has_four_numbers_of_a_value_in_place_of_eleven(tmp_path: Path) -> None:
    """Three codes that gates take, and a gate times a state: these are what is left."""
    model, counts = load_text(write(tmp_path / "m.npz", "recurrent"))[0], []
    for program in programs(tmp_path / "m.npz"):
        steps = [one for one in program.steps if isinstance(one, Floats | Start)]
        mixers = [one for one in steps if one.operator == "Recurrent"]
        numbers = sum(one.numbers for one in mixers if isinstance(one, Floats))
        counts.append(numbers / model.shape.width / model.shape.layers)
        jobs = [job.vector for one in mixers if isinstance(one, Start) for job in one.jobs]
    assert counts == [11, 4]
    assert jobs == ["silu", "sigmoid", "blend", "sigmoid"] * model.shape.layers


@pytest.mark.parametrize("bits", ["w1.58a8", "w2a8"])
def test_states_of_16_bits_are_near_their_floats(bits: str, tmp_path: Path) -> None:
    path = write(tmp_path / "m.npz", "recurrent", bits)
    tokens = np.random.default_rng(1).integers(0, 9, 24)
    wanted = floats(path, tokens)
    assert error(path, FLOATS, wanted, tokens) < error(path, ROW_UNITS, wanted, tokens) < 0.1


def test_a_state_moves_as_its_integers_do() -> None:
    rng = np.random.default_rng(2)
    x = rng.normal(0, 3, 500)
    keep = sigmoid(np.append(x, [-99, 0, 99]))
    assert keep.max() == 1 - 2.0**-14
    assert keep[-2] == 0.5
    state, new = (rng.integers(-(1 << places), 1 << places, keep.size) for places in (15, 14))
    states = moved(state / 2.0**11, keep, new / 2.0**11) * 2.0**11
    for made, *one in zip(states, state.tolist(), keep, new.tolist(), strict=True):
        f = Fraction(float(one[1]))
        assert made == floor(one[0] * f + one[2] * (1 - f) + Fraction(1, 2))
