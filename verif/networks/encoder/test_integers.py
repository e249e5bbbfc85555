"""Text encoders in integers: near their floats, by jobs alone, the same in any company."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from carrysave.compiler.encoder.codes import IntegerEncoder
from carrysave.compiler.encoder.compile import VECTORS, compiled
from carrysave.compiler.encoder.evaluate import vectors
from carrysave.compiler.encoder.floats import encode
from carrysave.compiler.encoder.integers import quantise
from carrysave.compiler.encoder.ranges import ranges
from carrysave.compiler.front.encoder_weights import Encoder, read_encoder
from carrysave.compiler.program.program import Program
from carrysave.compiler.program.steps import Start
from carrysave.compiler.target.target import Target
from carrysave.compiler.timing.golden_job import golden_job
from carrysave.driver.job import Job
from golden.npe.vector import VectorUnitSpec
from golden.soc.job_check import matrices
from hw.catalog import Design
from verif.networks.encoder.encoders import SIZES, tensors, write

VECTOR = (
    "vector_unit(width=16,scale_width=8,out_width=16,signed=true,norm_fraction=8,length=64,"
    "operations=softmax,layer_norm,gelu,silu,add,multiply,scale)"
)
TARGET = Target(Design("coprocessor", {"code_bytes": 2, "vector": VECTOR, "transpose": True}))
assert TARGET.spec.vector is not None
UNIT: VectorUnitSpec = TARGET.spec.vector
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
    found = vectors(compiled(integers, own, TARGET))
    assert found.shape == (len(own), encoder.width)
    near = cosines(found.astype(float), encode(encoder, own))
    assert near.min() > 0.99
    # Weights beside their places are seen.
    block = integers.blocks[1]
    worse = replace(block, up=replace(block.up, weights=np.roll(block.up.weights, 1, axis=1)))
    broken = replace(integers, blocks=(integers.blocks[0], worse))
    worst = cosines(vectors(compiled(broken, own, TARGET)).astype(float), encode(encoder, own))
    assert worst.mean() < near.mean() - 0.02


def test_a_sentence_is_the_same_in_any_company(tmp_path: Path) -> None:
    _, integers = both(tmp_path)
    own = sentences(3)
    together = vectors(compiled(integers, own, TARGET))
    for number, one in enumerate(own):
        alone = vectors(compiled(integers, [one], TARGET))
        np.testing.assert_array_equal(alone, together[number : number + 1])


def places(program: Program, job: Job) -> tuple[np.ndarray, np.ndarray]:
    """Return the addresses of what a job reads, and of what it writes."""
    found = matrices(program.target.spec, golden_job(job, program.target.spec))
    written = found.pop("c").places().ravel()
    return np.concatenate([one.places().ravel() for one in found.values()]), written


def check_order(program: Program, jobs: list[Job]) -> None:
    """Check that jobs read what was placed or written, and that each job's results are read."""
    placed, missing, nothing = -1, -2, -3
    maker = np.full(program.image.end, nothing)
    for address, data in program.image.parts.items():
        maker[address : address + len(data)] = placed
    for job in jobs:
        maker[places(program, job)[1]] = missing
    used: set[int] = set()
    for number, job in enumerate(jobs):
        into, out = places(program, job)
        used |= set(maker[into].tolist())
        assert not used & {missing, nothing}, f"order: job {number} reads what is not there"
        maker[out] = number
    vectors = program.buffers[VECTORS]
    used |= set(maker[vectors.address : vectors.end].tolist())
    unused = {*range(len(jobs))} - used
    assert not unused, f"order: nothing reads what {unused} write"


def test_all_is_in_the_program(tmp_path: Path) -> None:
    """Each job reads what was placed or written, and each result is read, by a job or the host."""
    _, integers = both(tmp_path)
    program = compiled(integers, sentences(3, (3, 5)), TARGET)
    starts = [step for step in program.steps if isinstance(step, Start)]
    kinds: Counter[str] = Counter()
    for step in starts:
        kinds[step.operator] += len(step.jobs)
    heads = 2 * SIZES["num_hidden_layers"] * SIZES["num_attention_heads"]
    layers = SIZES["num_hidden_layers"]
    assert kinds == {
        "product": 4 * layers + 2 * heads + 2,
        "softmax": 2 * layers,
        "transpose": 2 * layers,
        "layer_norm": 2 * layers + 1,
        "gelu": layers,
        "add": 2 * layers + 1,
        "scale": 2 * layers,
        "multiply": 2 * (2 * layers + 1) - 1,
    }
    jobs = [job for step in starts for job in step.jobs]
    check_order(program, jobs)
    # What is in a buffer that several jobs write, before the last one of them, is no result.
    written = [set(places(program, job)[1].tolist()) for job in jobs]
    bound = [
        number
        for number, two in enumerate(jobs[1:])
        if written[number] & set(places(program, two)[0].tolist())
        and not any(written[number] & before for before in written[:number])
    ]
    assert len(bound) > 15
    for number in bound:
        swapped = [*jobs]
        swapped[number : number + 2] = reversed(swapped[number : number + 2])
        with pytest.raises(AssertionError, match="order"):
            check_order(program, swapped)
