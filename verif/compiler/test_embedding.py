"""The embedding in a program: a tied one is read from the matrix to the words."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from carrysave.compiler.decoder.attention import Decoder
from carrysave.compiler.decoder.compile import ProgramDecoder, block_of, compile_decoder
from carrysave.compiler.decoder.embedding import is_tied
from carrysave.compiler.front.checkpoint import load_checkpoint
from carrysave.compiler.front.decoder import Model
from carrysave.compiler.front.gguf import load
from carrysave.compiler.program.build import Builder
from carrysave.compiler.program.digits import by_byte
from carrysave.compiler.program.floats import Floats, Format, Operation
from carrysave.compiler.program.image import Image
from carrysave.compiler.program.program import Program
from carrysave.compiler.program.steps import Start
from carrysave.compiler.target.target import Target
from carrysave.weights.gguf import read_gguf
from golden.lut.grouped import FastWeights
from golden.lut.weights import GroupedWeights
from verif.compiler import runners
from verif.language import test_chat
from verif.language.tiny_models import config_of, weights_of, write_checkpoint
from verif.soc.driver.conftest import library as library

INT8 = Target(block_of({"engine": "systolic_os(m=4,n=4)"}))
NARROW = Target(block_of({"engine": "systolic_os(m=2,n=8,b_width=4)"}))
PAIRS = Target(block_of({"engine": "systolic_os(m=2,n=8,b_width=2)"}))
CACHE = 8


def tied(folder: Path) -> Model:
    """Return a model whose matrix to the words, of 8 bits, is its embedding."""
    return load(read_gguf(test_chat.write(folder / "m.gguf")))


def with_head(model: Model, bits: int, levels: str, *, scale: float = 1.0) -> Model:
    """Return the same with another embedding, which is its matrix to the words."""
    rng, (words, width) = np.random.default_rng(5), model.embedding.shape

    def halves(low: float, high: float) -> Any:
        numbers = rng.uniform(low, high, (width // 32, words)).astype(np.float16)
        return numbers.view(np.uint16).astype(np.int64)

    affine = levels == "affine"
    zeros = None if affine else np.full((width // 32, words), 1 << bits - 1)
    head = FastWeights(
        GroupedWeights(
            codes=rng.integers(0, 1 << bits, (width, words)),
            bits=bits,
            levels=levels,
            group=32,
            scale_format="fp16",
            scales=halves(-0.02, 0.02),
            zeros=zeros,
            offsets=halves(-1, 1) if affine else None,
        )
    )
    numbers = head.integers * head.scales[:, None]
    if head.offsets is not None:
        numbers += head.offsets[:, None]
    embedding = (numbers.reshape(width, words) * np.float32(scale)).T
    return replace(model, head=head, embedding=embedding, embedding_scale=scale)


def gathers(program: Program) -> list[Floats]:
    """Return the steps that make a row of the embedding."""
    return [
        step for step in program.steps if isinstance(step, Floats) and step.node == "token_embd"
    ]


def check_rows(model: Model, program: Program) -> None:
    """Check the logits of tokens, the first and the last one of the vocabulary among them."""
    own = ProgramDecoder(program, *runners.on_golden(program), CACHE)
    last = model.shape.words - 1
    tokens = np.array([0, last, last - 1, 1, 0])
    expected = Decoder(model, cache=CACHE).step(tokens)
    assert np.array_equal(own.step(tokens), expected)
    assert len(np.unique(expected, axis=0)) > 2


@pytest.mark.parametrize("target", [INT8, NARROW, PAIRS], ids=["8", "4", "2"])
def test_tied_embedding_is_stored_once(target: Target, tmp_path: Path) -> None:
    """A byte of B is a weight, also where it has several digits; no float of the table is left."""
    model = tied(tmp_path)
    assert is_tied(model)
    program = compile_decoder(model, target, cache=CACHE)
    look, scaled = gathers(program)
    assert (look.operation, scaled.operation) == (Operation.LOOK_UP, Operation.MULTIPLY)
    check_rows(model, program)
    one = compile_decoder(replace(model, embedding_scale=3.0), target, cache=CACHE)
    (copied,) = gathers(one)
    assert copied.operands["a"].format == Format.F32
    check_rows(model, one)
    # Floats in place of a table of 256 and of the steps' words.
    assert one.image.end - program.image.end > 4 * math.prod(model.embedding.shape) - 2048


@pytest.mark.parametrize(("bits", "levels"), [(8, "affine"), (4, "affine"), (4, "uniform")])
@pytest.mark.parametrize("scale", [1.0, 5.65625])
def test_codes_offsets_and_factors_are_those_of_the_embedding(
    bits: int, levels: str, scale: float, tmp_path: Path
) -> None:
    """Of 8 bits without a sign, and of 4 bits, which share a byte: these have a byte each."""
    model = with_head(tied(tmp_path), bits, levels, scale=scale)
    program = compile_decoder(model, NARROW, cache=CACHE)
    steps = [Operation.LOOK_UP if bits == 8 else Operation.COPY, Operation.MULTIPLY]
    steps += [Operation.ADD] * (levels == "affine") + [Operation.MULTIPLY] * (scale != 1)
    found = gathers(program)
    assert [one.operation for one in found] == steps
    assert found[0].operands["a"].format == Format.I8
    check_rows(model, program)


def test_an_embedding_of_its_own_is_floats(tmp_path: Path) -> None:
    """The last number is another one: the table stays."""
    model = tied(tmp_path)
    embedding = np.array(model.embedding)
    embedding[-1, -1] = np.nextafter(embedding[-1, -1], np.float32(9))
    other = replace(model, embedding=embedding)
    assert not is_tied(other)
    program = compile_decoder(other, NARROW, cache=CACHE)
    (copied,) = gathers(program)
    assert copied.operands["a"].format == Format.F32
    check_rows(other, program)


def test_factor_of_a_family_is_said(tmp_path: Path) -> None:
    """Of Gemma the embedding is multiplied by the root of its width, in float32."""
    config = config_of("gemma2", sliding_window=5)
    folder = write_checkpoint(tmp_path / "m", config, weights_of(config))
    model, _ = load_checkpoint(folder, 8)
    assert model.embedding_scale == float(np.float32(model.shape.width**0.5)) != 1


@pytest.mark.parametrize("runner", ["driver", "c"])
def test_runners_look_up_the_same_row(runner: str, library: Any, tmp_path: Path) -> None:
    """A column of B, a byte of each row, of the tied embedding with offsets."""
    model = with_head(tied(tmp_path), 8, "affine")
    program = compile_decoder(model, NARROW, cache=CACHE)
    on = {"driver": runners.on_driver, "c": runners.on_c(library)}[runner]
    own = ProgramDecoder(program, *on(program), CACHE)
    tokens = np.array([model.shape.words - 1, 2])
    assert np.array_equal(own.step(tokens), Decoder(model, cache=CACHE).step(tokens))


def test_digits_side_by_side_are_one_product(tmp_path: Path) -> None:
    """With twice as many columns, of which half count; too many columns are products apart."""
    model = tied(tmp_path)
    program = compile_decoder(model, NARROW, cache=CACHE)
    words, groups = model.shape.words, len(model.head.integers)

    def head(program: Program) -> tuple[list[int], int]:
        starts = [one for one in program.steps if isinstance(one, Start) and one.node == "output"]
        return [job.n for one in starts for job in one.jobs], sum(one.macs for one in starts)

    assert head(program) == ([2 * words] * groups, model.head.integers.size)
    image = Image(NARROW)
    groups_of = model.head.integers.astype(np.int64)
    whole = Builder(image).weights(groups_of, beside=True)
    apart = Builder(image).weights(groups_of)
    assert (whole.beside, len(whole.parts), whole.places) == (2, 1, (0, 4))
    assert (apart.beside, len(apart.parts), apart.values) == (1, 2, None)
    few = Target(block_of({"engine": "systolic_os(m=2,n=8,b_width=4)", "dimension_width": "8"}))
    wide = np.tile(groups_of, (1, 1, -(-128 // words)))[:, :, :128]
    assert Builder(Image(few)).weights(wide, beside=True).beside == 1
    assert Builder(Image(few)).weights(wide[:, :, :127], beside=True).beside == 2


def test_bytes_that_are_two_weights_are_none() -> None:
    rows = np.array([[1, 255], [1, 0]], np.uint8)
    found = by_byte(rows, np.array([[5, -7], [5, 0]]))
    assert found is not None
    assert [found[128 + 1], found[128 - 1], found[128]] == [5, -7, 0]
    assert by_byte(rows, np.array([[5, -7], [6, 0]])) is None
    assert by_byte(rows, np.array([[5, -7]])) is None


def test_layers_share_rooms(tmp_path: Path) -> None:
    """What a block does not leave behind is where the one before had it; states stay apart."""
    model = tied(tmp_path)
    ends, filled = [], []
    for count in (1, 2, 3):
        shape = replace(model.shape, layers=count)
        layers = [model.layers[0]] * count
        program = compile_decoder(replace(model, shape=shape, layers=layers), NARROW, cache=CACHE)
        ends.append(program.image.end)
        filled.append(sum(map(len, program.image.parts.values())))
    # A block's weights, states and words, what fills them up, and the counters of its starts.
    assert ends[2] - ends[1] - (filled[2] - filled[1]) < 4096
    assert ends[1] - ends[0] - (filled[1] - filled[0]) < 4096
    builder = Builder(Image(NARROW))
    with builder.passing():
        first, state = builder.array(Format.F32, 8), builder.state(Format.F32, 8)
        second = builder.array(Format.F32, 8)
    with builder.passing():
        again = builder.array(Format.F32, 8)
        constant = builder.constant(np.ones(8), Format.F32)
    lasting = builder.array(Format.F32, 8)
    assert again.address in (first.address, second.address)
    places = [first, state, second, constant, lasting]
    assert len({one.address for one in places}) == 5
