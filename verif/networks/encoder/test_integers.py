"""Text encoders in integers: near their floats, by jobs alone, the same in any company."""

from collections import Counter
from dataclasses import fields, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from carrysave.compiler.encoder.codes import IntegerEncoder
from carrysave.compiler.encoder.compile import JobList, compiled
from carrysave.compiler.encoder.floats import encode
from carrysave.compiler.encoder.integers import quantise
from carrysave.compiler.encoder.ranges import ranges
from carrysave.compiler.front.encoder_weights import Encoder, read_encoder
from carrysave.compiler.program.jobs import Job, Product
from carrysave.compiler.program.matrices import Memory, View
from carrysave.compiler.target.target import Target
from golden.npe.vector import VectorUnitSpec
from hw.catalog import Design
from verif.networks.encoder.encoders import SIZES, tensors, write

UNIT = VectorUnitSpec(
    width=16, scale_width=8, out_width=16, signed=True, norm_fraction=8, length=64
)
TARGET = Target(Design("coprocessor", {"code_bytes": 2}))
LENGTHS = (1, 2, 7, 20, 13)


def sentences(seed: int, lengths: tuple[int, ...] = LENGTHS) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.integers(0, SIZES["vocab_size"], size) for size in lengths]


def both(folder: Path, **changes: Any) -> tuple[Encoder, IntegerEncoder]:
    """Make an encoder whose third column gets large, in floats and in integers."""
    found = tensors(np.random.default_rng(1))
    found["encoder.layer.0.output.LayerNorm.weight"][2] *= 12
    encoder = read_encoder(write(folder, found, **changes))
    return encoder, quantise(encoder, ranges(encoder, sentences(2, (20,) * 12)), UNIT)


def cosines(found: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    return (found * wanted).sum(axis=1) / np.linalg.norm(found, axis=1)


@pytest.mark.parametrize("activation", ["gelu", "silu"])
def test_vectors_are_near_those_of_floats(tmp_path: Path, activation: str) -> None:
    encoder, integers = both(tmp_path, hidden_act=activation)
    own = sentences(3)
    found = compiled(integers, own, TARGET).run()
    assert found.shape == (len(own), encoder.width)
    near = cosines(found.astype(float), encode(encoder, own))
    assert near.min() > 0.99
    # Weights beside their places are seen.
    block = integers.blocks[1]
    worse = replace(block, up=replace(block.up, weights=np.roll(block.up.weights, 1, axis=1)))
    broken = replace(integers, blocks=(integers.blocks[0], worse))
    worst = cosines(compiled(broken, own, TARGET).run().astype(float), encode(encoder, own))
    assert worst.mean() < near.mean() - 0.02


def test_a_sentence_is_the_same_in_any_company(tmp_path: Path) -> None:
    _, integers = both(tmp_path)
    own = sentences(3)
    together = compiled(integers, own, TARGET).run()
    for number, one in enumerate(own):
        alone = compiled(integers, [one], TARGET).run()
        np.testing.assert_array_equal(alone, together[number : number + 1])


def views(job: Job) -> tuple[list[View], list[View]]:
    """Return what a job reads, and what it writes."""
    given = {one.name: getattr(job, one.name) for one in fields(job)}
    found = {name: value for name, value in given.items() if isinstance(value, View)}
    written = [found.pop("c")]
    return [*found.values()], written


def check_order(jobs: JobList) -> None:
    """Check that jobs read what was placed or written, and that each job's results are read."""
    placed, missing = -1, -2
    maker = {name: np.full(one.shape, placed) for name, one in jobs.memory.matrices.items()}
    made = Memory(matrices=maker)
    for view in (view for job in jobs.jobs for view in views(job)[1]):
        made.read(view)[:] = missing
    used: set[int] = set()
    for number, job in enumerate(jobs.jobs):
        into, out = views(job)
        for view in into:
            used |= set(made.read(view).flat)
        assert missing not in used, f"order: {job.layer} reads what is not there"
        for view in out:
            made.read(view)[:] = number
    used |= set(maker[jobs.vectors.name][jobs.vectors.index].flat)
    unused = [jobs.jobs[number].layer for number in {*range(len(jobs.jobs))} - used]
    assert not unused, f"order: nothing reads what {unused} write"


def test_all_is_in_the_list_of_jobs(tmp_path: Path) -> None:
    """Each job reads what was placed or written, and each result is read, by a job or the host.

    Operands of products are codes of 8 bits.
    """
    _, integers = both(tmp_path)
    jobs: JobList = compiled(integers, sentences(3, (3, 5)), TARGET)
    kinds = Counter(job.KIND for job in jobs.jobs)
    heads = 2 * SIZES["num_hidden_layers"] * SIZES["num_attention_heads"]
    layers = SIZES["num_hidden_layers"]
    assert kinds == {
        "product": 4 * layers + 2 * heads + 2, "softmax": 2 * layers, "transpose": 2 * layers,
        "norm": 2 * layers + 1, "gate": layers, "add": 2 * layers + 1, "scale": 2 * layers,
        "multiply": 2 * (2 * layers + 1) - 1,
    }  # fmt: skip
    bits = jobs.memory.bits
    for job in jobs.jobs:
        if isinstance(job, Product):
            assert bits[job.a.name] == bits[job.b.name] == 8
    check_order(jobs)
    pairs = [*enumerate(pairwise(jobs.jobs))]
    bound = [place for place, (one, two) in pairs if set(views(one)[1]) & set(views(two)[0])]
    assert len(bound) > 15
    for place in bound:
        swapped = [*jobs.jobs]
        swapped[place : place + 2] = reversed(swapped[place : place + 2])
        with pytest.raises(AssertionError, match="order"):
            check_order(replace(jobs, jobs=swapped))
