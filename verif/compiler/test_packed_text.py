"""Weights of text models without their zeros: the same logits and vectors, of fewer bytes."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from carrysave.compiler.decoder.compile import ProgramDecoder, block_of, compile_decoder
from carrysave.compiler.decoder.recurrent import decoder_of
from carrysave.compiler.decoder.skip import skipping
from carrysave.compiler.encoder.compile import TOKENS, VECTORS, compiled_for
from carrysave.compiler.front.checkpoint import load_checkpoint
from carrysave.compiler.front.decoder import FEED, Model
from carrysave.compiler.program.facts import facts, packed_remark
from carrysave.compiler.program.image import Image
from carrysave.compiler.program.packed import weights
from carrysave.compiler.program.program import Program
from carrysave.compiler.program.steps import Start
from carrysave.compiler.run import network
from carrysave.compiler.run.stepwise import comparable
from carrysave.compiler.target.target import Target
from carrysave.compiler.timing.products import job_of_shape
from golden.formats.bitmap import BlockSize, unpack_image
from golden.soc.memory_timing import MemoryTiming
from hw.catalog import Design
from verif.compiler import programs, runners
from verif.compiler.test_decoder import gguf
from verif.language.tiny_gguf import write_gguf
from verif.language.tiny_models import config_of, weights_of, write_checkpoint
from verif.networks.encoder.test_simulate import small_integers
from verif.soc.driver.conftest import library as library
from verif.support.command import Run
from verif.support.schemas import check

SLOW = MemoryTiming(latency=20, bytes=2)
WIDE = {"engine": "adder_tree(m=1,n=8,k=8)", "data_width": "64", "b_bytes": "8192"}
CACHE, TEXT = 8, np.array([3, 1, 4])


def target(*, sparse: bool = True, **more: str) -> Target:
    return Target(block_of(WIDE | {"sparse": f"{sparse}".lower()} | more), timing=SLOW)


def pruned(config: dict[str, Any], share: float = 0.62) -> dict[str, np.ndarray]:
    """Return weights of which a share of each 32 are zeros, the least of magnitude."""
    made = weights_of(config)
    for values in made.values():
        if values.ndim == 2:
            groups = values.reshape(-1, 32)
            least = np.argsort(np.abs(groups), axis=1)[:, : round(32 * share)]
            np.put_along_axis(groups, least, 0, axis=1)
    return made


def model_of(folder: Path, kind: str, share: float = 0.62, **changes: Any) -> Model:
    config = config_of(kind, **changes)
    return load_checkpoint(write_checkpoint(folder / "m", config, pruned(config, share)), 8)[0]


def products(program: Program, *nodes: str) -> list[bool]:
    """Return of products, of some nodes or all, whether B is packed."""
    return [
        job.packed
        for step in program.steps
        if isinstance(step, Start) and (not nodes or step.node.endswith(nodes))
        for job in step.jobs
        if job.vector is None
    ]


def logits(program: Program, on: runners.On = runners.on_golden) -> np.ndarray:
    return ProgramDecoder(program, *on(program), CACHE).step(TEXT)


def cycles(program: Program) -> int:
    return sum(step.cycles for step in program.steps if isinstance(step, Start))


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        ("llama", {"tie_word_embeddings": True}),
        ("mixtral", {"num_local_experts": 3}),
        ("bitnet", {}),
    ],
)
def test_logits_are_the_decoders(kind: str, changes: dict[str, Any], tmp_path: Path) -> None:
    """Tied embeddings too, and experts, whose images are as far from each other as rows were."""
    model = model_of(tmp_path, kind, **changes)
    packed, plain = (
        compile_decoder(model, target(sparse=sparse), cache=CACHE) for sparse in (True, False)
    )
    decoder = decoder_of(model, cache=CACHE, bits=8)
    expected = np.concatenate([decoder.step(TEXT[at : at + 1]) for at in range(len(TEXT))])
    assert np.array_equal(logits(packed), expected)
    assert np.array_equal(logits(plain), expected)
    assert all(products(packed, *FEED, "attn_q", "attn_output"))
    assert not any(products(packed, "softmax", "scores"))
    assert not any(products(plain))
    assert cycles(packed) < 0.85 * cycles(plain)
    assert packed_remark(packed).startswith(f"sparse=true: B of {sum(products(packed))} of ")
    assert not packed_remark(plain)


def test_weights_that_are_no_shorter_stay(tmp_path: Path) -> None:
    """Of no zeros, and those whose rows are listed: a list is of places of a B as it is."""
    program = compile_decoder(gguf(tmp_path), target(), cache=CACHE)
    assert not any(products(program))
    model = skipping(model_of(tmp_path, "llama"), TEXT, 0.5)
    program = compile_decoder(model, target(lists="96"), cache=CACHE)
    assert not any(products(program, *FEED))
    assert all(products(program, "attn_q"))
    assert np.array_equal(
        logits(program), logits(compile_decoder(model, target(sparse=False), cache=CACHE))
    )
    assert any(products(compile_decoder(model, target(), cache=CACHE), *FEED))


def test_codes_of_4_bits_are_packed_by_bytes(tmp_path: Path) -> None:
    """A byte of two codes is left out where both are zeros, of digits as well."""
    model = model_of(tmp_path, "llama", share=0.8)
    narrow = "systolic_os(m=1,n=8,b_width=4)"
    program = compile_decoder(model, target(engine=narrow), cache=CACHE)
    assert any(products(program))
    plain = compile_decoder(model, target(sparse=False, engine=narrow), cache=CACHE)
    assert np.array_equal(logits(program), logits(plain))


def test_images_begin_with_a_beat() -> None:
    """Of matrices of an odd number of rows, which are no whole beats."""
    rng = np.random.default_rng(6)
    few = rng.random((3, 9, 64)) < 0.3
    matrices = list((rng.integers(1, 128, few.shape) * few).astype(np.uint8))
    image, one = Image(target()), target()
    made = weights(image, "b", job_of_shape(one, (1, 9, 64)), matrices)
    assert made.packing is not None
    for number in range(3):
        part = made.at(9 * number, 9)
        assert part.address % 8 == 0
        data = np.frombuffer(image.parts[made.address], np.uint8)[part.address - made.address :]
        blocks = made.packing.blocks
        stores = one.info.stores
        size = BlockSize(blocks.k * stores.tile_k, blocks.n * stores.tile_n)
        dense = unpack_image(data[: made.packing.bytes], (9, 64), size)
        assert dense is not None
        assert np.array_equal(dense, matrices[number])


@pytest.mark.parametrize("runner", ["driver", "c"])
def test_runners_leave_the_same_bytes(runner: str, library: Any, tmp_path: Path) -> None:
    program = compile_decoder(model_of(tmp_path, "llama"), target(), cache=CACHE)
    assert any(products(program))
    on = {"driver": runners.on_driver, "c": runners.on_c(library)}[runner]
    assert np.array_equal(logits(program, on), logits(program))


def test_encoders_vectors_are_the_same(tmp_path: Path) -> None:
    """One program for any count of tokens; blocks of images are those of the most."""
    made, moved = [], []
    for sparse in ("true", "false"):
        texts = {**WIDE, **programs.DESIGNS["encoder"], "sparse": sparse}
        one = Target(Design.parse("coprocessor", texts), timing=SLOW)
        encoder, sentences = small_integers(tmp_path / "model", one)
        rng = np.random.default_rng(1)
        for block in encoder.blocks:
            for codes in (block.qkv, block.out, block.up, block.down):
                codes.weights[rng.random(codes.weights.shape) < 0.7] = 0
        program = compiled_for(encoder, 20, one)
        assert any(products(program)) == (sparse == "true")
        moved.append(facts(program, "", "")["schedule"]["bytes"])
        for tokens in sentences[:2]:
            rows = np.zeros((20, 1), np.int64)
            rows[: len(tokens), 0] = tokens
            memory = program.memory
            runner, given = network.by_golden(program, memory), {"words.rows": rows}
            found = network.run(program, given, memory, runner, {TOKENS: len(tokens)})
            made.append(found[VECTORS])
    assert np.array_equal(made[:2], made[2:])
    assert not np.array_equal(made[0], made[1])
    assert moved[0] < moved[1]


def test_commands_say_how_many(run: Run, tmp_path: Path) -> None:
    """`compile` and `chat` of the folder: fewer bytes, the same answer."""
    config = config_of("llama")
    write_gguf(tmp_path / "m.gguf", config, pruned(config))
    moved, answers = [], []
    for sparse in ("true", "false"):
        flags = [f"{name}={value}" for name, value in (WIDE | {"sparse": sparse}).items()]
        more = ("--memory", "latency=20,bytes=2", "--cache", "16", "--json")
        done = run("compile", "m.gguf", *(word for one in flags for word in ("-p", one)), *more)
        assert done.code == 0, done.err
        assert ("products is in memory without its zeros" in done.err) == (sparse == "true")
        moved.append(check("compile", done.out)["schedule"]["bytes"])
        answers.append(run("chat", "build/compile/m", "--prompt", "hello", "--tokens", "6").out)
    assert moved[0] < 0.85 * moved[1]
    assert answers[0] == answers[1] != ""


@pytest.mark.prove
def test_a_token_on_the_block_leaves_goldens_bytes(tmp_path: Path) -> None:
    """Of a model of one layer; and cycles are those of the model, about."""
    model = model_of(tmp_path, "llama", num_hidden_layers=1)
    program = compile_decoder(model, target(), cache=CACHE)
    assert any(products(program))
    (ours, memory), (theirs, other) = (
        (ProgramDecoder(program, *pair, CACHE), pair[0])
        for pair in (runners.on_block(tmp_path)(program), runners.on_golden(program))
    )
    other[:] = program.memory
    ours.step(TEXT[:1])
    theirs.step(TEXT[:1])
    assert not np.flatnonzero(comparable(program, memory) != comparable(program, other)).size
