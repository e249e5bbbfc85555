"""Runs with one beat that is drawn, many at a time: pairs that differ are found in no time."""

import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np

from carrysave.contract.handshakes import Handshakes
from carrysave.contract.miter import DEPTH, Witness
from carrysave.contract.operands import Beats, Operand
from carrysave.prove.aig import Step
from hw.emit import tools, yosys

__all__ = ["Drawn"]

_RUNS = 512
_SEED = 1
_WORK = 4_000_000
"""Most gates times cycles: of large circuits the first cycles must do."""
_DENSITIES = (0.1, 0.3, 0.6, 1.0)
"""Chances that a code is not zero."""
_ALIKE = 4
"""Most runs with the same atoms of which all pairs are looked at."""


class Drawn:
    """Runs of a design in which only the first beat of each stream is not zero.

    Every stream that comes in offers a beat in every cycle, and nothing that goes out stalls.

    Parameters
    ----------
    operands : inputs whose codes are drawn one by one, many of them zero; of others any bits are.

    Members
    -------
    beats : the first beat of each run.
    """

    def __init__(self, core: Handshakes, operands: Sequence[Operand]):
        self.core = core
        draw = random.Random(_SEED)
        shapes = {operand.field: operand for operand in operands}
        self._fields = tuple(name for name in core.reaching if name not in core.known)
        self.beats = Beats({
            name: [_draw(draw, shapes.get(name), core.fields[name]) for _ in range(_RUNS)]
            for name in self._fields
        })
        self._outputs = self._simulate()
        columns = np.packbits(self._outputs.reshape(-1, _RUNS), axis=0).T
        self._traces = [column.tobytes() for column in columns]

    def pairs(self, values: np.ndarray) -> Iterator[tuple[int, int]]:
        """Yield runs whose handshakes differ, though some atoms of theirs are alike.

        Parameters
        ----------
        values : of these atoms, atoms x runs.
        """
        alike: dict[bytes, dict[bytes, int]] = defaultdict(dict)
        for run, (column, trace) in enumerate(zip(values.T, self._traces, strict=True)):
            alike[column.tobytes()].setdefault(trace, run)
        for runs in alike.values():
            yield from combinations(list(runs.values())[:_ALIKE], 2)

    def witness(self, one: int, two: int) -> Witness:
        """Return two runs up to where they differ."""
        differs = (self._outputs[..., one] != self._outputs[..., two]).any(axis=1)
        end = int(np.argmax(differs)) + 1
        first, second = (self._inputs(run, end) for run in (one, two))
        return Witness(
            tuple(first), tuple({name: each[name] for name in self._fields} for each in second)
        )

    def _inputs(self, run: int, end: int) -> Iterator[dict[str, int]]:
        """Yield the inputs of the first cycles of a run."""
        core = self.core
        taken = dict.fromkeys(core.streams, False)
        for cycle in range(end):
            values = {core.reset: _inactive(core), **dict.fromkeys(core.controls, 1)}
            for name in core.reaching:
                channel = core.channel(name)
                fresh = channel is None or not taken[channel]
                values[name] = (
                    1 if name in core.known else self.beats.values[name][run] if fresh else 0
                )
            yield {name: values[name] for name in core.widths if name != core.clock}
            for valid, ready in core.streams.items():
                taken[valid] |= bool(self._outputs[cycle, core.outputs.index(ready), run])

    def _simulate(self) -> np.ndarray:
        """Return the handshakes, cycles x outputs x runs."""
        core, step = self.core, _step(self.core)
        ones = (1 << _RUNS) - 1
        fixed = {core.reset: ones * _inactive(core)}
        fixed |= dict.fromkeys([*core.controls, *(each for each in core.known)], ones)
        bits = {
            name: [
                sum((value >> bit & 1) << run for run, value in enumerate(values))
                for bit in range(core.fields[name])
            ]
            for name, values in self.beats.values.items()
        }
        open_ = dict.fromkeys(core.streams, ones)
        state: dict[str, int] = {}
        rows = []
        for _ in range(max(1, min(DEPTH, _WORK // len(step.aig.gates)))):
            inputs = state | fixed
            for name, words in bits.items():
                channel = core.channel(name)
                mask = ones if channel is None else open_[channel]
                inputs |= {f"{name}[{bit}]": word & mask for bit, word in enumerate(words)}
                inputs[name] = words[0] & mask
            values = step.aig.evaluate(inputs, _RUNS)

            def value(literal: int, values: list[int] = values) -> int:
                return values[literal >> 1] ^ (ones if literal & 1 else 0)

            state = {name: value(literal) for name, literal in step.next.items()}
            outputs = [value(step.outputs[name]) for name in core.outputs]
            rows.append([_bits(word) for word in outputs])
            for valid, ready in core.streams.items():
                open_[valid] &= ~outputs[core.outputs.index(ready)]
        return np.array(rows)


def _inactive(core: Handshakes) -> int:
    return int(core.reset.endswith("n"))


def _bits(word: int) -> np.ndarray:
    """Return a bit for each run."""
    data = np.frombuffer(word.to_bytes(_RUNS // 8, "little"), dtype=np.uint8)
    return np.unpackbits(data, bitorder="little")


def _draw(draw: random.Random, operand: Operand | None, width: int) -> int:
    """Draw the value of an input."""
    if operand is None:
        return draw.getrandbits(width)
    density, result = draw.choice(_DENSITIES), 0
    for number in range(operand.rows * operand.codes):
        if draw.random() < density:
            # Half of them have fewer digits.
            code = draw.getrandbits(operand.width)
            code &= draw.getrandbits(operand.width) if draw.random() < 0.5 else code
            result |= code << number * operand.width
    return result


def _step(core: Handshakes) -> Step:
    """Return one cycle of the handshakes as gates; all registers are zero at first."""
    with tools.workplace() as folder:
        (folder / "core.il").write_text(core.netlist)
        yosys.run(
            "read_rtlil core.il\nmemory_map\nsetundef -zero\nopt -full\ntechmap\nopt -full\n"
            "dffunmap\naigmap\nopt_clean -purge\nwrite_aiger -ascii -zinit -symbols core.aag",
            cwd=folder,
        )
        return Step.parse((folder / "core.aag").read_text(), {})
