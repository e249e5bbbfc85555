"""Two layers of Qwen3-0.6B's sizes, with drawn weights, as a program: counted and simulated."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np

from carrysave.compiler.decoder.compile import ProgramDecoder, compile_decoder, core_block
from carrysave.compiler.front.decoder import FEED, Layer, Model, Shape, plain_rope
from carrysave.compiler.program.program import Program
from carrysave.compiler.program.steps import Start
from carrysave.compiler.run.sample import Sample
from carrysave.compiler.target.target import Target
from carrysave.driver.job import Job
from golden.lut.grouped import FastWeights
from golden.lut.weights import GroupedWeights
from golden.soc.memory_timing import MEMORIES

__all__ = ["QWEN3", "cycles_of_token", "simulated", "slice_program"]

QWEN3 = Shape(
    layers=28, width=1024, hidden=3072, heads=16, shared=8, head=128, words=151936, context=40960
)
"""Sizes of Qwen3-0.6B; the embedding is the matrix to the words."""
LAYERS, WORDS, GROUP = 2, 2048, 32
MEMORY = "ddr3x16"
ENGINE = "systolic_os(m=1,n=16,b_width=4)"
"""Multiplier blocks of an ECP5, as wide as a bus of 64 bits has weights of 4 bits."""


def _matrix(rng: np.random.Generator, inputs: int, outputs: int) -> FastWeights:
    """Draw weights of 4 bits, as Q4_0 has them."""
    groups = inputs // GROUP
    return FastWeights(
        GroupedWeights(
            codes=rng.integers(0, 16, (inputs, outputs), np.int16),
            bits=4,
            levels="uniform",
            group=GROUP,
            scale_format="fp16",
            scales=np.full((groups, outputs), int(np.float16(0.004).view(np.uint16)), np.int64),
            zeros=np.full((groups, outputs), 8, np.int64),
        )
    )


def _model() -> Model:
    rng, shape = np.random.default_rng(1), replace(QWEN3, layers=LAYERS, words=WORDS)
    inner, shared = shape.heads * shape.head, shape.shared * shape.head
    sizes = {
        "attn_q": (shape.width, inner),
        "attn_k": (shape.width, shared),
        "attn_v": (shape.width, shared),
        "attn_output": (inner, shape.width),
        FEED[0]: (shape.width, shape.hidden),
        FEED[1]: (shape.width, shape.hidden),
        FEED[2]: (shape.hidden, shape.width),
    }
    wide, head = np.ones(shape.width, np.float32), np.ones(shape.head, np.float32)
    layers = [
        Layer(
            matrices={name: _matrix(rng, *size) for name, size in sizes.items()},
            attention_gain=wide,
            feed_gain=wide,
            query_gain=head,
            key_gain=head,
            rope=plain_rope(1e6, shape.head),
        )
        for _ in range(LAYERS)
    ]
    embedding = rng.normal(0, 1, (WORDS, shape.width)).astype(np.float32)
    words = _matrix(rng, shape.width, WORDS)
    return Model(shape=shape, embedding=embedding, layers=layers, gain=wide, head=words)


def slice_program(cache: int, *, opens: bool) -> Program:
    """Compile the slice.

    Parameters
    ----------
    cache : tokens of keys and values.
    opens : the memory has rows that open, and refreshes; the simulated one has not.
    """
    timing = MEMORIES[MEMORY]
    timing = timing if opens else replace(timing, sdram=None)
    design = core_block("blocks", {"engine": ENGINE, "data_width": "64"})
    return compile_decoder(_model(), Target(design, timing=timing), cache=cache)


def cycles_of_token(program: Program) -> int:
    """Return the cycles of all jobs of a token, of as many layers and words as the model has."""
    starts = [one for one in program.steps if isinstance(one, Start)]
    layers = sum(one.cycles for one in starts if one.node.startswith("blk."))
    words = sum(one.cycles for one in starts if not one.node.startswith("blk."))
    return layers * QWEN3.layers // LAYERS + words * QWEN3.words // WORDS


def simulated(program: Program, each: int, folder: Path) -> Sample:
    """Run a token; of the layers' jobs, the first of each node and every so-manieth simulated.

    Parameters
    ----------
    program : of :func:`slice_program`.
    each : one of so many jobs of a node runs on the block, whole.
    folder : for simulations.
    """
    chosen = _Chosen(each)
    sample = Sample(program, every=chosen.is_whole, seed=0, folder=folder, kind=chosen.kind, each=0)
    (section,) = program.sections
    memory = program.memory
    decoder = ProgramDecoder(program, memory, lambda one: sample.execute(memory, section.start), 1)
    decoder.step(np.array([7]))
    sample.run()
    return sample


class _Chosen:
    """Names jobs of a sample: those of layers that run by their nodes."""

    def __init__(self, each: int) -> None:
        self._each, self._last = each, False
        self._seen: Counter[str] = Counter()

    def kind(self, step: Start, job: Job) -> str:
        """Return the name of the next job."""
        del job
        self._seen[step.node] += 1
        turn = (self._seen[step.node] - 1) % self._each == 0
        self._last = turn and step.node.startswith("blk.")
        return step.node if self._last else "left out"

    def is_whole(self, step: Start) -> bool:
        """Return whether the job that was named last runs."""
        del step
        return self._last
