"""Circuits of AND gates, and what each of their variables can be, unknown ones too."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

__all__ = ["ALL", "Circuit", "Values"]

ALL = ~np.uint64(0)
"""A word of ones."""


@dataclass(frozen=True)
class Circuit:
    """A circuit of AND gates. Literals are twice a variable, and one more if inverted.

    Variables are 0, which is never 1, then inputs, registers and gates.

    Members
    -------
    inputs, outputs : names, such as ``in_i_data[0]``; of outputs with the literal.
    registers : literals of what they are next.
    gates : literals of both inputs.
    """

    inputs: list[str]
    registers: list[int]
    outputs: dict[str, int]
    gates: list[tuple[int, int]]

    @classmethod
    def read(cls, path: Path) -> "Circuit":
        """Read an AIGER file in ASCII with names."""
        lines = [line.split() for line in path.read_text().splitlines()]
        _, inputs, registers, outputs, gates = map(int, lines[0][1:6])
        names = {line[0]: line[1] for line in lines if line[0][0] in "io" and len(line) == 2}
        at = 1 + inputs
        after = [int(line[1]) for line in lines[at : at + registers]]
        at += registers
        output_of = {names[f"o{number}"]: int(lines[at + number][0]) for number in range(outputs)}
        at += outputs
        pairs = [(int(line[1]), int(line[2])) for line in lines[at : at + gates]]
        first = 2 * (1 + inputs + registers)
        assert [int(line[0]) for line in lines[at : at + gates]] == [
            *range(first, first + 2 * gates, 2)
        ]
        return cls([names[f"i{number}"] for number in range(inputs)], after, output_of, pairs)


@dataclass(frozen=True)
class Values:
    """What each variable can be, in each lane: rows of ``can[1]`` and ``can[0]`` are words."""

    circuit: Circuit
    can: np.ndarray

    @classmethod
    def of(cls, circuit: Circuit, inputs: np.ndarray, states: np.ndarray) -> "Values":
        """Compute all; `inputs` and `states` are what each can be, 2 x number x words."""
        size = 1 + len(circuit.inputs) + len(circuit.registers) + len(circuit.gates)
        can = np.zeros((2, size, states.shape[2]), np.uint64)
        can[0, 0] = ALL
        can[:, 1 : 1 + len(circuit.inputs)] = inputs
        first = size - len(circuit.gates)
        can[:, 1 + len(circuit.inputs) : first] = states
        for row, (a, b) in enumerate(circuit.gates, first):
            np.bitwise_and(can[~a & 1, a >> 1], can[~b & 1, b >> 1], out=can[1, row])
            np.bitwise_or(can[a & 1, a >> 1], can[b & 1, b >> 1], out=can[0, row])
        return cls(circuit, can)

    def at(self, literals: list[int]) -> np.ndarray:
        """Return what literals can be, 2 x number x words."""
        values = self.can[:, [literal >> 1 for literal in literals]]
        turned = [literal & 1 == 1 for literal in literals]
        values[:, turned] = values[::-1, turned]
        return values

    def same(self, other: "Values", inputs: np.ndarray, registers: np.ndarray) -> np.ndarray:
        """Return whether each variable is the same in another run, a row of words for each.

        Parameters
        ----------
        other : with inputs and states that have no other known values.
        inputs : which are the same, even where they are unknown.
        registers : likewise, in which lanes, number x words.
        """
        circuit = self.circuit
        known = (self.can[0] ^ self.can[1]) & (other.can[0] ^ other.can[1])
        alike = known & ~(self.can[1] ^ other.can[1])
        first = 1 + len(circuit.inputs) + len(circuit.registers)
        alike[1 : 1 + len(circuit.inputs)][inputs] = ALL
        alike[1 + len(circuit.inputs) : first] |= registers
        for row, (a, b) in enumerate(circuit.gates, first):
            alike[row] |= alike[a >> 1] & alike[b >> 1]
        return alike
