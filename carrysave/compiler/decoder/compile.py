"""A decoder as one program, and what runs it."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from carrysave.compiler.decoder.caches import POSITION
from carrysave.compiler.decoder.lowering import SUMS, TOKEN, Lowering
from carrysave.compiler.decoder.lowering_attention import AttentionLowering
from carrysave.compiler.decoder.lowering_recurrent import RecurrentLowering
from carrysave.compiler.decoder.units import VECTOR
from carrysave.compiler.front.gguf import Model
from carrysave.compiler.program.assemble import assembled
from carrysave.compiler.program.build import Builder
from carrysave.compiler.program.image import Image
from carrysave.compiler.program.program import Program
from carrysave.compiler.target.target import Target
from carrysave.driver.system import Parameter, parameter_words
from carrysave.errors import UsageError, refusal
from hw.catalog import Design

__all__ = ["LOGITS", "ProgramDecoder", "block_of", "compile_decoder"]

LOGITS = "logits"
"""Output of the program."""


def block_of(parameters: Mapping[str, str]) -> Design:
    """Return a co-processor with the vector unit, and other parameters as given."""
    facts = ",".join(f"{name}={value}" for name, value in vars(VECTOR).items())
    options = {"vector": f"vector_unit({facts})", "requantise": "false", "accumulate": "false"}
    return Design.parse("coprocessor", {**options, **parameters})


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
    most = min(4096, model.shape.context)
    if not 1 <= cache <= most:
        raise refusal("cache", f"1..{most} tokens", str(cache))
    _check(model, target, cache)
    image = Image(target)
    builder = Builder(image)
    parameters = [Parameter(name=TOKEN, low=0, high=model.shape.words - 1)]
    lowering: Lowering = RecurrentLowering(model, builder)
    if model.form == "attention":
        lowering = AttentionLowering(model, builder, cache, bits or model.cache_bits)
        parameters.append(Parameter(name=POSITION, low=0, high=cache - 1))
    logits = lowering.logits()
    return assembled(
        image,
        [builder.steps],
        scores=(logits.address, 1),
        parameters=parameters,
        results={LOGITS: logits},
    )


def _check(model: Model, target: Target, cache: int) -> None:
    """Refuse a co-processor that lacks what the program needs: all of it at once."""
    info, unit, longest = target.info, target.spec.vector, model.longest(cache)
    wrong = []
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
    if unit is None or replace(unit, lanes=VECTOR.lanes) != VECTOR:
        facts = ",".join(f"{name}={value}" for name, value in vars(VECTOR).items())
        wrong.append(f"vector must be vector_unit({facts}), but for lanes, not {unit}")
    elif target.spec.sizes:
        wrong.append("requantise must be false: jobs of the vector unit have codes of 2 bytes")
    if wrong:
        raise ValueError("; ".join(wrong))


class ProgramDecoder:
    """A program of a decoder, token by token.

    Parameters
    ----------
    parameters, logits : of the program; `logits` are in `memory`.
    memory : of the program, uint8.
    run : runs its section on that memory.
    cache : tokens that are taken at most.
    """

    def __init__(
        self,
        parameters: tuple[Parameter, ...],
        memory: np.ndarray,
        logits: np.ndarray,
        run: Callable[[], None],
        cache: int,
    ) -> None:
        self.cache, self.length = cache, 0
        self._parameters, self._memory, self._logits, self._run = parameters, memory, logits, run

    def step(self, tokens: np.ndarray) -> np.ndarray:
        """Append tokens; return the logits after each, float32, tokens x words."""
        count = len(tokens)
        if not 1 <= count <= self.cache - self.length:
            raise UsageError(
                f"prompt must be 1..{self.cache - self.length} tokens, what is left of "
                f"{self.cache}, not {count}"
            )
        known = {one.name for one in self._parameters}
        logits = []
        for token in tokens.tolist():
            values = {TOKEN: token, POSITION: self.length}
            for address, data in parameter_words(
                self._parameters, {name: values[name] for name in known}
            ).items():
                self._memory[address : address + len(data)] = np.frombuffer(data, np.uint8)
            self._run()
            self.length += 1
            logits.append(self._logits[0].copy())
        return np.array(logits)
