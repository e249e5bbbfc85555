"""Attention of encoders in one pass: near floats, by the co-processor's jobs, if better."""

from pathlib import Path

import numpy as np
import pytest

from carrysave.compiler.encoder.attention_way import WAYS, attention_cycles, chosen_way
from carrysave.compiler.encoder.compile import compiled
from carrysave.compiler.encoder.evaluate import vectors
from carrysave.compiler.encoder.floats import encode
from carrysave.compiler.encoder.request import UNIT, EmbedOptions, asked, parameters
from carrysave.compiler.lowered.heads import ONE_PASS, ROWS
from carrysave.compiler.program.program import Program
from carrysave.compiler.program.steps import Start
from carrysave.compiler.target.target import Target
from carrysave.errors import ArgumentError
from hw.catalog import Design
from verif.networks.encoder.test_integers import TARGET, VECTOR, both, cosines, sentences


def target_of(**more: object) -> Target:
    vector = VECTOR[:-1] + ",exps,divide,block=8)"
    fields = {"code_bytes": 2, "vector": vector, "transpose": True, "shares": True}
    return Target(Design("coprocessor", fields | more))


def operations(program: Program) -> set[str]:
    steps = [step for step in program.sections[0].steps if isinstance(step, Start)]
    return {job.vector or "product" for step in steps for job in step.jobs}


def test_vectors_in_one_pass_are_near_those_of_floats(tmp_path: Path) -> None:
    """As near as those of whole rows, about; of one block, of several; in any company."""
    encoder, integers = both(tmp_path)
    own, target = sentences(3, (1, 2, 7, 20, 13)), target_of()
    program = compiled(integers, own, target, attention=ONE_PASS)
    assert {"exps", "divide"} <= operations(program)
    assert "softmax" not in operations(program)
    found, wanted = vectors(program), encode(encoder, own)
    rows = vectors(compiled(integers, own, target, attention=ROWS))
    near, before = (cosines(each.astype(float), wanted) for each in (found, rows))
    assert near.min() > 0.99
    assert (1 - near).mean() < 1.1 * (1 - before).mean()
    for one, row in zip(own, found, strict=True):
        alone = vectors(compiled(integers, [one], target, attention=ONE_PASS))
        np.testing.assert_array_equal(alone[0], row)


def test_the_way_of_fewer_cycles_is_chosen(tmp_path: Path) -> None:
    _, integers = both(tmp_path)
    for length in (5, 20):
        cycles = {way: attention_cycles(integers, length, target_of(), way) for way in WAYS}
        best = min(cycles, key=cycles.__getitem__)
        assert chosen_way(integers, length, target_of(), None, None) == best
        assert {chosen_way(integers, length, target_of(), None, way) for way in WAYS} == {*WAYS}
    assert chosen_way(integers, 20, TARGET, None, None) == ROWS
    program = compiled(integers, sentences(3, (9,)), TARGET)
    assert "exps" not in operations(program)


def test_one_pass_is_refused_where_it_is_not_built(tmp_path: Path) -> None:
    _, integers = both(tmp_path)
    for target in (TARGET, target_of(shares=False)):
        with pytest.raises(ValueError, match="attention must be rows where shares, or exps and"):
            compiled(integers, sentences(3, (9,)), target, attention=ONE_PASS)
    with pytest.raises(ArgumentError, match="attention must be"):
        EmbedOptions(attention="fast").check()


def test_flags_choose_a_unit_with_one_pass() -> None:
    given = parameters({}, ONE_PASS)
    assert given["shares"] == "true"
    assert given["vector"] == UNIT[:-1] + ",exps,divide)"
    assert "shares" not in parameters({}, ROWS)
    assert parameters({"shares": "false"}, ONE_PASS)["shares"] == "false"
    Target(Design.parse("coprocessor", given))
    assert [asked(EmbedOptions(attention=each)) for each in ("auto", *WAYS)] == [None, *WAYS]
