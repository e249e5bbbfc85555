"""Runs a netlist between its streams against the golden twin, to see a fault at the outputs."""

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from carrysave.prove.aig import Step, node_of
from carrysave.prove.counterexample import Counterexample
from golden.pe.mac import MacSpec, mac

__all__ = ["Shown", "shown_by"]

_STREAMS = 512
_BEATS = 4
_CYCLES = 32
"""After the last beat, until the sum must be there."""


@dataclass(frozen=True)
class Shown:
    """A stream from reset on, whose sum is wrong at the outputs.

    Members
    -------
    beats : codes of a and of b in each beat, as bit patterns; the last one ends the sum.
    netlist, golden : sums modulo 2^width; None if none came.
    """

    beats: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]
    netlist: int | None
    golden: int


def shown_by(
    circuit: str, spec: MacSpec, fault: Counterexample | None, seed: int = 0
) -> Shown | None:
    """Look for a stream that has a wrong sum; half of them end with a counterexample's operands.

    Parameters
    ----------
    circuit : all of it, with its registers, an ASCII AIGER file.
    """
    step = Step.parse(circuit, {"clk": False})
    generator = random.Random(seed)
    streams = []
    for number in range(_STREAMS):
        beats = []
        # First those operands alone; then after others.
        for _ in range(_BEATS):
            codes = [
                tuple(_code(generator, width, number) for _ in range(spec.k))
                for width in (spec.a_width, spec.b_width)
            ]
            beats.append((codes[0], codes[1]))
        if fault is not None and fault.a and number < _STREAMS // 2:
            beats[-1] = fault.a, fault.b
        streams.append(beats)
    sums = _run(step, spec, streams)
    expected = _twin(spec, streams)
    for beats, netlist, golden in zip(streams, sums, expected, strict=True):
        if netlist != golden:
            return Shown(tuple(beats), netlist, golden)
    return None


Streams = Sequence[Sequence[tuple[tuple[int, ...], tuple[int, ...]]]]


def _code(generator: random.Random, width: int, number: int) -> int:
    """Draw an operand; of the first streams zero, of others often one of few ones or zeros."""
    if number == 0:
        return 0
    code = generator.getrandbits(width)
    match number % 3:
        case 1:
            return code
        case 2:
            return code & generator.getrandbits(width) & generator.getrandbits(width)
    return code | generator.getrandbits(width) | generator.getrandbits(width)


def _twin(spec: MacSpec, streams: Streams) -> list[int]:
    """Return the sums of the golden twin; numpy's integers hold those of 63 bits."""
    modulus = 1 << spec.accumulator_width
    pairs = [[_numbers(spec, beat) for beat in beats] for beats in streams]
    if spec.accumulator_width > 63 or max(spec.a_width, spec.b_width) > 16:
        return [
            sum(x * y for beat in beats for x, y in zip(*beat, strict=True)) % modulus
            for beats in pairs
        ]
    a = np.array([beat[0] for beats in pairs for beat in beats])
    b = np.array([beat[1] for beats in pairs for beat in beats])
    last = np.arange(len(a)) % _BEATS == _BEATS - 1
    return [int(total) % modulus for total in mac(spec, a, b, last)]


def _numbers(spec: MacSpec, beat: tuple[tuple[int, ...], tuple[int, ...]]) -> list[list[int]]:
    """Return codes as integers."""
    widths = (spec.a_width, spec.a_signed), (spec.b_width, spec.b_signed)
    return [
        [code - (1 << width) if signed and code >> (width - 1) else code for code in codes]
        for codes, (width, signed) in zip(beat, widths, strict=True)
    ]


def _run(step: Step, spec: MacSpec, streams: Streams) -> list[int | None]:
    """Simulate all streams at once, from reset on, without stalls."""
    count = len(streams)
    ones = (1 << count) - 1
    state: dict[str, int] = {}
    sums: list[int | None] = [None] * count
    offered = [0] * count
    for cycle in range(2 + _BEATS + _CYCLES):
        inputs = dict(state) | {"rst": ones if cycle < 2 else 0, "o_ready": ones}
        for place, beats in enumerate(streams):
            if cycle >= 2 and offered[place] < _BEATS:
                _put(inputs, spec, beats[offered[place]], place)
                inputs["i_valid"] = inputs.get("i_valid", 0) | 1 << place
                if offered[place] == _BEATS - 1:
                    inputs["i_last"] = inputs.get("i_last", 0) | 1 << place
        values = step.aig.evaluate(inputs, count)

        def value(read: int, values: list[int] = values) -> int:
            return values[node_of(read)] ^ (ones if read & 1 else 0)

        ready = value(step.outputs["i_ready"]) & inputs.get("i_valid", 0)
        valid = value(step.outputs["o_valid"]) if cycle >= 2 else 0
        for place in range(count):
            offered[place] += ready >> place & 1
            if valid >> place & 1 and sums[place] is None:
                sums[place] = _sum(step, value, place) % (1 << spec.accumulator_width)
        state = {name: value(read) for name, read in step.next.items()}
    return sums


def _put(
    inputs: dict[str, int],
    spec: MacSpec,
    beat: tuple[tuple[int, ...], tuple[int, ...]],
    place: int,
) -> None:
    """Offer a beat in the pattern of its stream."""
    for port, codes, width in (("i_a", beat[0], spec.a_width), ("i_b", beat[1], spec.b_width)):
        word = sum(code << width * pair for pair, code in enumerate(codes))
        for bit in range(width * len(codes)):
            if word >> bit & 1:
                name = f"{port}[{bit}]"
                inputs[name] = inputs.get(name, 0) | 1 << place


def _sum(step: Step, value: Callable[[int], int], place: int) -> int:
    """Return the sum at the outputs: sum and carries."""
    total = 0
    for name, read in step.outputs.items():
        if match := re.fullmatch(r"o_(?:sum|carry)\[(\d+)\]", name):
            total += (value(read) >> place & 1) << int(match[1])
    return total
