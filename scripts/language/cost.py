"""Bytes, cycles and tokens a second of decoders, by the co-processor's model of cycles."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil
from typing import Any

import numpy as np

from carrysave.compiler.decoder.units import GROUP, VECTOR
from carrysave.compiler.front.decoder import Shape
from golden.npe.vector_unit import cycles as vector_cycles
from golden.soc.blocking import Stores, cost, plan
from golden.soc.ring_cycles import start_cycles
from golden.soc.spec import CoprocessorSpec
from scripts.language.engines import Core

__all__ = ["MODELS", "RECURRENT", "Cost", "Memory", "cost_of", "weight_bytes"]

_SUM_BITS = 32
_QUERY, _PROBABILITY = 8, 15
"""Bits of codes."""
_STORE = 1 << 12
"""Bytes of an operand buffer; and sums of a block."""
_BUSES = 32, 64, 128, 256, 512
"""Bits of a co-processor's bus."""
_MATRICES = 3
"""Of a recurrent block, of one operand: what is kept of a state, what is fresh, and a gate."""


def _shape(layers: int, width: int, hidden: int, heads: int, shared: int, words: int) -> Shape:
    more: dict[str, Any] = {"words": words, "head": width // heads, "context": 4096}
    return Shape(layers=layers, width=width, hidden=hidden, heads=heads, shared=shared, **more)


def _recurrent(layers: int, width: int, hidden: int, words: int) -> Shape:
    """Return a shape without heads: a recurrent state mixes tokens."""
    return replace(_shape(layers, width, hidden, 1, 1, words), heads=0, shared=0, head=0)


MODELS: dict[str, Shape] = {
    "SmolLM2-135M": _shape(30, 576, 1536, 9, 3, 49152),
    "1 B": _shape(16, 2048, 8192, 32, 8, 128256),
    "2 B": _shape(30, 2560, 6912, 20, 5, 128256),
    "7 B": _shape(32, 4096, 11008, 32, 32, 32000),
}
"""Sizes as those of SmolLM2, Llama 3.2 1B, BitNet b1.58 2B and Llama 2 7B."""

RECURRENT: dict[str, Shape] = {
    "370 M, MatMul-free": _recurrent(24, 1024, 2816, 32000),
}
"""Without attention, in the form of Zhu et al., 2024 (arXiv 2406.02528), and its sizes."""


@dataclass(frozen=True, kw_only=True)
class Memory:
    """What feeds the co-processor.

    Members
    -------
    gigabytes : a second, in units of 10^9, all of which can be had.
    clock_mhz : of the co-processor.
    copies : co-processors: they share columns of each product by weights, jobs of attention in a
        layer, and rows of the vector unit; what comes later waits for all of them.
    """

    gigabytes: float
    clock_mhz: float
    copies: int = 1

    @property
    def bits(self) -> float:
        """Bits that one co-processor could be given in a cycle."""
        return self.gigabytes * 8e3 / self.clock_mhz / self.copies

    @property
    def bus(self) -> int:
        """Bits of the co-processor's bus: the narrowest that takes them all, if there is one."""
        return next((width for width in _BUSES if width >= self.bits), _BUSES[-1])

    @property
    def beat(self) -> float:
        """Cycles of a beat of the bus, on average."""
        return max(1.0, self.bus / self.bits)


@dataclass(frozen=True, kw_only=True)
class Cost:
    """Of a step of all sequences.

    Members
    -------
    cycles : of the co-processor.
    bytes : that must come from memory: weights and their scales, keys and values.
    traffic : bytes that the plan of blocks moves: operands that are read again, activations and
        sums, too, in whole beats; not rows of the vector unit.
    macs : useful products.
    tokens : that go in.
    peak : products that all engines could make in a cycle.
    """

    cycles: int
    bytes: int
    traffic: int
    macs: int
    tokens: int
    peak: int


def weight_bytes(shape: Shape, core: Core) -> int:
    """Count bytes of all matrices, with scales; the embedding is the matrix to the words."""
    each = core.stored + core.scales / GROUP
    return round(sum(k * n * times * each for k, n, times in _weights(shape)) / 8)


def cost_of(shape: Shape, core: Core, memory: Memory, *, batch: int, new: int, past: int) -> Cost:
    """Count the cycles of a step.

    Parameters
    ----------
    shape, core, memory : what runs where.
    batch : sequences, each with its own cache.
    new, past : tokens of each that go in, and that are in its cache already.
    """
    model = _Model(core, memory)
    rows, macs = batch * new, 0
    total = traffic = 0
    # Of a prompt only the last token becomes a word.
    for (k, n, times), count in zip(_weights(shape), (rows, rows, rows, rows, batch), strict=True):
        cycles, moved = model.product(count, k, n, core.bits, core.scales / GROUP)
        total += times * cycles
        traffic += times * moved
        macs += times * count * k * n
    length = past + new
    # Digits of queries and of probabilities are below each other.
    for bits, k, n in _attention(shape, length):
        queries = new * shape.heads // shape.shared
        turns = shape.layers * -(-batch * shape.shared // memory.copies)
        down = core.rows(bits) * queries
        scales = core.cache_scales / GROUP
        cycles, moved = model.product(down, k, n, core.cache, scales, whole=True)
        total += turns * cycles
        traffic += shape.layers * batch * shape.shared * moved
        macs += batch * shape.heads * new * shape.layers * k * n
    total += model.rows(shape, rows, length)
    values = batch * shape.layers * 2 * shape.shared * shape.head * length
    cached = round(values * (core.cache + core.cache_scales / GROUP) / 8)
    weights = weight_bytes(shape, core)
    stores = model.stores
    peak = stores.tile_m * stores.tile_n * stores.tile_k * memory.copies
    return Cost(
        cycles=total, bytes=weights + cached, traffic=traffic, macs=macs, tokens=rows, peak=peak
    )


def _attention(shape: Shape, length: int) -> Iterator[tuple[int, int, int]]:
    """List products by keys and by values: bits of a code, K x N; a recurrent model has none."""
    if shape.heads:
        yield _QUERY, shape.head, length
        yield _PROBABILITY, length, shape.head


def _weights(shape: Shape) -> Iterator[tuple[int, int, int]]:
    """List products by weights, K x N, and how often: one for those of one operand; words last."""
    inner, shared = shape.heads * shape.head, shape.shared * shape.head
    mixed = inner + 2 * shared
    if not shape.heads:
        inner, mixed = shape.width, _MATRICES * shape.width
    yield shape.width, mixed, shape.layers
    yield inner, shape.width, shape.layers
    yield shape.width, 2 * shape.hidden, shape.layers
    yield shape.hidden, shape.width, shape.layers
    yield shape.width, shape.words, 1


@dataclass(frozen=True)
class _Model:
    """The cost model of co-processors at a memory."""

    core: Core
    memory: Memory

    @cached_property
    def spec(self) -> CoprocessorSpec:
        """The co-processor."""
        engine = self.core.engine(ceil(self.memory.bus / self.memory.beat / self.core.stored))
        # Sums of the 32 codes of a scale leave while the next ones are made.
        assert not self.core.scales or engine.m + (engine.m - 1) // 8 <= GROUP // engine.k
        return CoprocessorSpec(
            engine=engine, data_width=self.memory.bus, outstanding=64, sums=_STORE, a_bytes=_STORE,
            b_bytes=_STORE, requantise=False, trits=self.core.trits,
        )  # fmt: skip

    @cached_property
    def stores(self) -> Stores:
        """Limits of its blocks, with the time that memory takes for a beat."""
        return replace(self.spec.stores(), beat=self.memory.beat)

    def product(
        self, m: int, k: int, n: int, bits: int, more: float, *, whole: bool = False
    ) -> tuple[int, int]:
        """Estimate cycles and bytes moved.

        Operands of other bits than the core's are digits side by side. Scales, `more` bits for
        each code, are read besides. `whole` products are not shared.
        """
        digits = 1 if bits == self.core.bits else -(-bits // self.core.digit)
        columns = (n if whole else -(-n // self.memory.copies)) * digits
        sizes = m, columns, k, _SUM_BITS
        estimate = cost(self.stores, plan(self.stores, *sizes), *sizes)
        scales = round(estimate.read_beats * more / self.core.stored)
        beats = estimate.read_beats + scales + estimate.write_beats
        shares = 1 if whole else self.memory.copies
        start = start_cycles(self.spec, self.spec.memory_timing)
        cycles = start + estimate.cycles + ceil(self.memory.beat * scales)
        return cycles, shares * beats * self.memory.bus // 8

    def rows(self, shape: Shape, rows: int, length: int) -> int:
        """Count cycles of vector units: norms, softmax and SiLU, row by row.

        A recurrent block has a norm before each matrix, and a SiLU as wide as its row; its sigmoids
        and its state are not in hardware. Copies share the rows of each, and there is no less than
        a row.
        """
        rng = np.random.default_rng(0)

        # As many lanes as memory could give codes in a cycle, 8 at least.
        codes = int(self.memory.bus / self.memory.beat) // VECTOR.width
        unit = replace(VECTOR, lanes=max(VECTOR.lanes, 1 << max(codes, 1).bit_length() - 1))

        def one(operation: str, size: int) -> int:
            row = rng.integers(-4000, 4000, size)
            return vector_cycles(unit, [(operation, row)])

        def gates(size: int) -> int:
            # A row of more than the unit takes is several jobs.
            starts = range(0, size, VECTOR.length)
            return sum(one("silu", min(size - at, VECTOR.length)) for at in starts)

        norm, blocks = one("rms_norm", shape.width), 2
        each = gates(shape.hidden)
        if not shape.heads:
            blocks = 3
            each += gates(shape.width) + one("rms_norm", min(shape.hidden, VECTOR.length))
        copies = self.memory.copies
        norms = (blocks * shape.layers + 1) * -(-rows // copies) * norm
        turns = shape.layers * -(-rows * shape.heads // copies)
        softmaxes = turns * one("softmax", min(length, VECTOR.length))
        return norms + softmaxes + shape.layers * -(-rows // copies) * each
