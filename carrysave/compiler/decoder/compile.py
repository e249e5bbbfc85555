"""A decoder as one program, and what runs it."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from itertools import pairwise

import numpy as np

from carrysave.compiler.decoder.blocks import check_room
from carrysave.compiler.decoder.caches import POSITION
from carrysave.compiler.decoder.cores import CORES, NF4
from carrysave.compiler.decoder.lowering import SUMS, TOKEN, Lowering
from carrysave.compiler.decoder.lowering_attention import AttentionLowering
from carrysave.compiler.decoder.lowering_experts import why_not
from carrysave.compiler.decoder.lowering_one_pass import (
    BLOCKS,
    OnePassLowering,
    attends_in_one_pass,
    lacking,
)
from carrysave.compiler.decoder.lowering_recurrent import RecurrentLowering
from carrysave.compiler.decoder.one_pass import BLOCK, one_pass_unit, why_not_one_pass
from carrysave.compiler.decoder.row_gates import ROWS
from carrysave.compiler.decoder.units import GROUP, VECTOR, unit_for
from carrysave.compiler.front.decoder import FEED, MOST_TOKENS, Model
from carrysave.compiler.lowered.heads import HOST, ONE_PASS
from carrysave.compiler.program.assemble import assembled
from carrysave.compiler.program.build import Builder
from carrysave.compiler.program.image import Image
from carrysave.compiler.program.program import Program
from carrysave.compiler.run import network
from carrysave.compiler.run.network import Runner
from carrysave.compiler.target.target import Target
from carrysave.driver.system import Parameter
from carrysave.errors import check_choice, refusal
from golden.npe.vector import VectorUnitSpec
from hw.catalog import Design

__all__ = [
    "LOGITS",
    "ProgramDecoder",
    "block_of",
    "compile_decoder",
    "core_block",
    "lists_for",
    "needed_parameters",
]

LOGITS = "logits"
"""Output of the program."""


def needed_parameters(
    *, cache: int = VECTOR.length, blend: bool = False, attention: str = HOST
) -> dict[str, str]:
    """Return the parameters of a co-processor that a program needs: the vector unit.

    Its rows have as many scores as a cache has tokens. With blends, it makes the gates of recurrent
    states, too. For attention in one pass, it makes shares, of a byte, and groups are scaled.
    """
    if attention == ONE_PASS:
        more = {"code_bytes": "2", "per_column": "false", "group_scales": "fp16"}
        return {"vector": _text_of(one_pass_unit(cache)), **more, "accumulate": "false"}
    unit = replace(ROWS if blend else VECTOR, length=unit_for(cache).length)
    return {"vector": _text_of(unit), "requantise": "false", "accumulate": "false"}


def _text_of(unit: VectorUnitSpec) -> str:
    """Return a vector unit as a parameter has it."""
    return f"vector_unit({','.join(f'{name}={value}' for name, value in vars(unit).items())})"


def block_of(
    parameters: Mapping[str, str], cache: int = VECTOR.length, attention: str = HOST
) -> Design:
    """Return a co-processor with the vector unit for a cache, and other parameters as given."""
    blend = parameters.get("blend") == "true"
    needed = needed_parameters(cache=cache, blend=blend, attention=attention)
    return Design.parse("coprocessor", {**needed, **parameters})


def core_block(
    core: str,
    parameters: Mapping[str, str],
    bits: int = 4,
    weights: int | str = 8,
    cache: int = VECTOR.length,
    attention: str = HOST,
) -> Design:
    """Return a co-processor with a core and the vector unit, and other parameters as given.

    Parameters
    ----------
    core : of :data:`CORES`.
    parameters : of the co-processor, the engine too.
    bits : of a weight, unless the core has a width of its own.
    weights : how matrices of floats were rounded: of NF4 an int8 array has codes in memory.
    cache : tokens that are taken at most.
    attention : `host`, or `one-pass`.
    """
    check_choice("core", core, tuple(CORES))
    engine = {"engine": CORES[core].replace("{bits}", str(bits))}
    more: dict[str, str] = {}
    if core == "ternary_core" and "engine" not in parameters:
        more["trits"] = "true"
    if core == "int8" and "engine" not in parameters and weights == NF4:
        more["codebook"] = NF4
    return block_of({**engine, **more, **parameters}, cache, attention)


def lists_for(model: Model, core: str) -> dict[str, str]:
    """Return the parameters of a co-processor that reads no rows that a model skips."""
    if core == "ternary_core":  # several weights along K are in a byte
        return {}
    longest = [
        layer.matrices[name].group
        for layer in model.layers
        for name in (FEED if layer.skip and not layer.experts else ())
    ]
    return {"lists": str(max(longest))} if longest else {}


def compile_decoder(
    model: Model, target: Target, *, cache: int, bits: int | None = None
) -> Program:
    """Compile a decoder for one token at a time.

    Parameters
    ----------
    model : weights.
    target : the co-processor, with A of int8, sums of 16 or 32 bits and the vector unit.
    cache : tokens that are taken at most; a recurrent state takes any number.
    bits : of a key or value in the cache, 8 or 4; None: the model's own.

    Raises
    ------
    ValueError
        Another co-processor, or one whose largest K or rows are too small.
    """
    most = min(MOST_TOKENS, model.shape.context)
    if not 1 <= cache <= most:
        raise refusal("cache", f"1..{most} tokens", str(cache))
    _check(model, target, cache)
    if attends_in_one_pass(target) and (
        reason := why_not_one_pass(model, bits or model.cache_bits)
    ):
        raise ValueError(reason)
    if (bits or model.cache_bits) == 4 and model.shape.head % GROUP:
        size = model.shape.head
        raise ValueError(f"heads must be of 32, 64, ... values for a cache of 4 bits, not {size}")
    image = Image(target)
    builder = Builder(image)
    parameters = [Parameter(name=TOKEN, low=0, high=model.shape.words - 1)]
    lowering: Lowering = RecurrentLowering(model, builder)
    if model.form == "attention":
        way = OnePassLowering if attends_in_one_pass(target) else AttentionLowering
        lowering = way(model, builder, cache, bits or model.cache_bits)
        parameters.append(Parameter(name=POSITION, low=0, high=cache - 1))
        if attends_in_one_pass(target):
            parameters.append(Parameter(name=BLOCKS, low=0, high=(cache - 1) // BLOCK))
    logits = lowering.logits()
    ends = [*lowering.cuts, len(builder.steps)]
    return assembled(
        image,
        [builder.steps[first:last] for first, last in pairwise([0, *ends])],
        scores=(logits.address, 1),
        parameters=[*parameters, *lowering.parameters],
        results={LOGITS: logits},
    )


def _check(model: Model, target: Target, cache: int) -> None:
    """Refuse a co-processor that lacks what the program needs: all of it at once."""
    info, unit, longest = target.info, target.spec.vector, model.longest(cache)
    wrong: list[str] = []
    wrong += {text for layer in model.layers if layer.experts and (text := why_not(layer.experts))}
    if target.mode.expander.name == NF4:
        entries = np.array(target.mode.expander.table)
        if not all(np.isin(one.integers, entries).all() for one in model.matrices()):
            wrong.append(f"weights must be numbers of {NF4}, to which floats alone are rounded")
    if target.modes or target.info.features & {"formats", "scales"}:
        wrong.append("engine must have one format of integers")
    number = target.mode.a
    if (number.bits, number.low, number.high) != (8, -128, 127):
        wrong.append(f"engine must have A of int8, not {number.low}..{number.high}")
    if info.sums.bits not in SUMS:
        bits = " or ".join(map(str, SUMS))
        wrong.append(f"engine must have sums of {bits} bits in memory, not {info.sums.bits}")
    if target.mode.k_max < longest:
        wrong.append(f"K must be 1..{target.mode.k_max}, the engine's k_max, not {longest}")
    needed = unit_for(cache)
    gates = replace(needed, operations=ROWS.operations)
    allowed = (one_pass_unit(cache),) if attends_in_one_pass(target) else (needed, gates)
    if unit is None or replace(unit, lanes=VECTOR.lanes) not in allowed:
        wrong.append(f"vector must be {_text_of(allowed[0])}, but for lanes, not {unit}")
    elif attends_in_one_pass(target):
        wrong += lacking(model, target)
    elif target.spec.sizes and not target.spec.gather:
        wrong.append(
            "requantise must be false without gather: jobs of the vector unit have codes of 2 bytes"
        )
    if wrong:
        raise ValueError("; ".join(wrong))


class ProgramDecoder:
    """A program of a decoder, token by token.

    Parameters
    ----------
    program : of :func:`compile_decoder`.
    memory, runner : of :func:`carrysave.compiler.run.network.run`.
    cache : tokens that are taken at most.
    """

    def __init__(self, program: Program, memory: np.ndarray, runner: Runner, cache: int) -> None:
        self.cache, self.length = cache, 0
        self.logits = program.results[LOGITS].view(memory)
        # Others are of experts, which the program chooses.
        self._known = {one.name for one in program.parameters} & {TOKEN, POSITION, BLOCKS}
        self._run = partial(network.run, program, {}, memory, runner)

    def parameters(self, token: int, place: int) -> dict[str, int]:
        """Return the parameters of the program's run for a token at a place."""
        values = {TOKEN: token, POSITION: place, BLOCKS: place // BLOCK}
        return {name: values[name] for name in self._known}

    def step(self, tokens: np.ndarray, *, last: bool = False) -> np.ndarray:
        """Append tokens; return the logits after each, or the last one, float32, tokens x words."""
        check_room(len(tokens), self.length, self.cache)
        logits = []
        for token in tokens.tolist():
            self._run(self.parameters(token, self.length))
            self.length += 1
            logits.append(self.logits[0].copy())
        return np.array(logits[-1:] if last else logits)
