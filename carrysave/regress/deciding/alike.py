"""Proofs that a mutant of a unit of rows is none: in every state its outputs are alike."""

from pathlib import Path

import numpy as np

from carrysave.regress.deciding.circuit import Circuit, Values
from carrysave.regress.deciding.states import (
    LANES,
    MOST,
    Idle,
    choices,
    input_choices,
    inputs_of,
    lanes_of,
    reached,
    spread,
    words_of,
)

__all__ = ["Pair", "always_same"]


def always_same(path: Path, mutant: int) -> bool:
    """Whether all outputs of a mutant are alike, in each state and after it.

    Registers may differ. Not if there are too many states to visit.
    """
    reach = reached(path, MOST)
    if reach is None:
        return False
    circuit, idle, met = reach
    pair = Pair(circuit, idle, mutant)
    ahead: set[bytes] = set()
    for inputs, every in met:
        for start in range(0, len(every), LANES):
            states = every[start : start + LANES]
            new = pair.after(inputs, states, np.zeros((len(states), pair.bytes), np.uint8))
            if new is None:
                return False
            ahead |= new
    seen = set(ahead)
    while ahead and len(seen) < MOST:
        part = [ahead.pop() for _ in range(min(len(ahead), LANES))]
        both = np.frombuffer(b"".join(part), np.uint8).reshape(len(part), -1)
        states, differing = both[:, : -pair.bytes], both[:, -pair.bytes :]
        for inputs, lanes in choices(circuit, *input_choices(circuit, states)):
            new = pair.after(inputs, states[lanes], differing[lanes])
            if new is None:
                return False
            ahead |= new - seen
            seen |= new
    return not ahead


class Pair:
    """A circuit and a mutant of it, of whose registers some are known to be alike.

    Parameters
    ----------
    circuit, idle : see :func:`reached`.
    mutant : its number.
    """

    def __init__(self, circuit: Circuit, idle: Idle, mutant: int):
        self.circuit, self.idle = circuit, idle
        self.bytes = -(-len(circuit.registers) // 8)
        self.chosen = np.array([name.startswith("mutant") for name in circuit.inputs])
        self.selected = inputs_of(circuit, mutant=mutant)[:, self.chosen]

    def after(
        self, inputs: np.ndarray, states: np.ndarray, differing: np.ndarray
    ) -> set[bytes] | None:
        """Return states in which registers may differ next, each with these; None if outputs may.

        Parameters
        ----------
        inputs, states : see :func:`reached`.
        differing : registers that may differ, bytes of bits, of each state.
        """
        if not len(states):
            return set()
        circuit, idle, wide = self.circuit, self.idle, len(self.circuit.registers)
        mutated = inputs.copy()
        mutated[:, self.chosen] = self.selected
        differ = words_of(np.unpackbits(differing, axis=1, count=wide).T)
        given, registers = spread(circuit, inputs, states)
        gold = Values.of(circuit, given, registers)
        gate = Values.of(circuit, spread(circuit, mutated, states)[0], registers | differ)
        alike = np.where(idle.shown[:, None], ~differ, np.uint64(0))
        same = gold.same(gate, ~self.chosen, alike)
        shown, next_ = (
            lanes_of(same[[literal >> 1 for literal in literals]][None], len(states))
            for literals in (list(circuit.outputs.values()), circuit.registers)
        )
        legal = lanes_of(gold.at([circuit.outputs["beyond"]]), len(states))[:, 0] == 1
        if not shown[legal].all():
            return None
        can = lanes_of(gold.at(circuit.registers), len(states))
        widened, rest = idle.widened(np.packbits(can, axis=1))
        unknown = can[:, :wide] & can[:, wide:]
        apart = (next_ == 0) & ~((unknown == 1) & ~idle.shown) & ~(rest[:, None] & idle.lost)
        more = apart.any(axis=1) & legal
        if not more.any():
            return set()
        both = np.hstack([widened[more], np.packbits(apart[more], axis=1)])
        return set(both.view(f"V{both.shape[1]}").ravel().tolist())
