"""What of an encoder's jobs runs on the block, and what is said of it."""

from pathlib import Path

import pytest

from carrysave.compiler.encoder.command import sample_of
from carrysave.compiler.program.program import Program
from carrysave.compiler.run import sample
from carrysave.compiler.run.sample import Sample
from verif.networks.encoder.encoders import SIZES
from verif.networks.encoder.test_simulate import small
from verif.support.golden_block import by_golden


def taken(program: Program, simulate: str, folder: Path) -> Sample:
    """Run a program by golden, and take jobs of it."""
    own = sample_of(program, simulate, folder, lambda text: None)
    own.execute(program.memory.copy(), program.sections[0].start)
    return own


def test_sample_is_a_layer_and_some_of_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = small(tmp_path, 4)
    own = taken(program, "layer", tmp_path)
    heads = SIZES["num_attention_heads"]
    names = [one.kind.partition(" ")[0] for some in own._taken.values() for one in some]
    assert names.count("0.scores") == names.count("0.context") == heads + 1
    assert names.count("0.shares") == 1
    # Keys are turned for scores.
    assert names.count("1.scores") == 2
    assert names.count("1.up") == names.count("pool") == 1
    (up,) = own._taken["0.up product"]
    assert (up.job.m, up.job.k, up.job.n) == (9, SIZES["hidden_size"], SIZES["intermediate_size"])
    monkeypatch.setattr(sample, "simulated", by_golden(program.target))
    own.run()
    assert own.wrong == {}
    assert own.whole_counted == sum(
        count for kind, count in own.jobs.items() if kind.startswith("0.")
    )
    some = taken(program, "sample", tmp_path)
    monkeypatch.setattr(sample, "simulated", by_golden(program.target, "layer_norm"))
    some.run()
    assert set(some.jobs.values()) == {1}
    assert some.whole_counted == 0
    assert {kind.partition(" ")[2] for kind in some.wrong} == {"layer_norm"}


@pytest.mark.prove
def test_small_encoder_on_the_block(tmp_path: Path) -> None:
    own = taken(small(tmp_path, 4), "layer", tmp_path)
    # Products; scores, contexts of heads; turned keys, shares, the scale of contexts, a gate; two
    # norms, each with a sum, what is added later, and operands of 8 bits.
    whole = sum(map(len, (some for kind, some in own._taken.items() if kind.startswith("0."))))
    assert whole == 4 + 2 * SIZES["num_attention_heads"] + 4 + 2 * 4
    own.run()
    assert own.wrong == {}
    # Models of cycles are near; short jobs wait less than the 189 cycles that all are given, and
    # rows of two operands wait for each other.
    assert 0.6 * own.whole_modelled < own.whole_counted < 1.1 * own.whole_modelled
