"""Text encoders in integers: near their floats, by jobs alone, the same in any company."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from carrysave.networks.encoder.codes import IntegerEncoder
from carrysave.networks.encoder.compile import JobList, compiled
from carrysave.networks.encoder.floats import encode
from carrysave.networks.encoder.integers import quantise
from carrysave.networks.encoder.ranges import ranges
from carrysave.networks.encoder.weights import Encoder, read_encoder
from carrysave.networks.joblist.jobs import Product
from carrysave.networks.target import Target
from golden.npe.vector import VectorUnitSpec
from hw.catalog import Design
from verif.networks.encoder.encoders import SIZES, tensors, write

UNIT = VectorUnitSpec(
    width=16, scale_width=8, out_width=16, signed=True, norm_fraction=8, length=64
)
TARGET = Target(Design("coprocessor"))
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


def test_all_is_in_the_list_of_jobs(tmp_path: Path) -> None:
    """Each job writes what a later one reads; operands of products are codes of 8 bits."""
    _, integers = both(tmp_path)
    jobs: JobList = compiled(integers, sentences(3, (3, 5)), TARGET)
    kinds = Counter(job.KIND for job in jobs.jobs)
    heads = 2 * SIZES["num_hidden_layers"] * SIZES["num_attention_heads"]
    layers = SIZES["num_hidden_layers"]
    assert kinds == {
        "product": 4 * layers + 2 * heads + 2, "softmax": heads, "transpose": 2 * layers,
        "norm": 2 * layers + 1, "gate": layers, "add": 2 * layers + 1,
        "multiply": heads + 4 * layers + 5 * layers + 2 * (layers + 1) - 1 + 2,
    }  # fmt: skip
    bits = jobs.memory.bits
    for job in jobs.jobs:
        if isinstance(job, Product):
            assert bits[job.a.name] == bits[job.b.name] == 8
