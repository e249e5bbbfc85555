"""And-inverter graphs: structural hashing, evaluation of many patterns at once, AIGER files."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

__all__ = ["FALSE", "TRUE", "Aig", "Step", "Unrolled", "node_of"]

FALSE, TRUE = 0, 1
"""Literals of the constants. A literal is twice its node's number, plus one if it is inverted."""


def node_of(literal: int) -> int:
    """Return the node of a literal."""
    return literal >> 1


class Aig:
    """A combinational circuit of AND gates with two inputs, in topological order.

    Members
    -------
    gates : list       Of each node the two literals of its gate; None of inputs and the constant.
    names : dict       Names of the inputs, by node.
    """

    def __init__(self) -> None:
        self.gates: list[tuple[int, int] | None] = [None]
        self.names: dict[int, str] = {}
        self._inputs: dict[str, int] = {}
        self._hashed: dict[tuple[int, int], int] = {}

    def input(self, name: str) -> int:
        """Return the literal of an input, which is made if it is new."""
        if name not in self._inputs:
            self._inputs[name] = 2 * len(self.gates)
            self.names[len(self.gates)] = name
            self.gates.append(None)
        return self._inputs[name]

    def copy(self) -> "Aig":
        """Return a circuit that can be made larger, with the same numbers of nodes."""
        made = Aig()
        made.gates, made.names = list(self.gates), dict(self.names)
        made._inputs, made._hashed = dict(self._inputs), dict(self._hashed)
        return made

    def both(self, one: int, other: int) -> int:
        """Return the literal of an AND, which is made if it is new."""
        if one > other:
            one, other = other, one
        if one == FALSE or one == other ^ 1:
            return FALSE
        if one in (TRUE, other):
            return other
        key = one, other
        if key not in self._hashed:
            self._hashed[key] = 2 * len(self.gates)
            self.gates.append(key)
        return self._hashed[key]

    def cone(self, literals: Iterable[int], leaves: Collection[int] = ()) -> list[int]:
        """Return the gates that literals depend on, above some leaves, inputs first."""
        reached: set[int] = set()
        waiting = [node_of(literal) for literal in literals]
        while waiting:
            node = waiting.pop()
            gate = self.gates[node]
            if node not in reached and node not in leaves and gate is not None:
                reached.add(node)
                waiting += [node_of(literal) for literal in gate]
        return sorted(reached)

    def text(self, outputs: Sequence[int]) -> str:
        """Return all of it as an ASCII AIGER file, with these literals as outputs."""
        # A node keeps its number: numbers that nothing has are legal.
        gates = [(2 * node, *gate) for node, gate in enumerate(self.gates) if gate is not None]
        lines = [f"aag {len(self.gates) - 1} {len(self.names)} 0 {len(outputs)} {len(gates)}"]
        lines += [str(2 * node) for node in self.names]
        lines += map(str, outputs)
        lines += [f"{made} {other} {one}" for made, one, other in gates]
        lines += [f"i{number} {name}" for number, name in enumerate(self.names.values())]
        return "\n".join([*lines, ""])

    def evaluate(self, values: Mapping[str, int], patterns: int) -> list[int]:
        """Return the values of all nodes: of each a number with a bit for each pattern.

        Inputs that are not given are zero.
        """
        ones = (1 << patterns) - 1
        result = [0] * len(self.gates)
        for node, name in self.names.items():
            result[node] = values.get(name, 0) & ones
        for node, gate in enumerate(self.gates):
            if gate is not None:
                one, other = (
                    result[literal >> 1] ^ (ones if literal & 1 else 0) for literal in gate
                )
                result[node] = one & other
        return result


@dataclass(frozen=True)
class Step:
    """One clock cycle of a circuit with registers, as a combinational circuit.

    Members
    -------
    aig : its inputs are the circuit's, and the registers' values before; names as ``i_a[3]``.
    next : literal of the next value of each register, by its name.
    outputs : literals by name.
    aliases : name of a register, by each of the names that it has.
    """

    aig: Aig
    next: Mapping[str, int]
    outputs: Mapping[str, int]
    aliases: Mapping[str, str]

    @classmethod
    def parse(cls, text: str, known: Mapping[str, bool]) -> "Step":
        """Read an ASCII AIGER file that Yosys has written with symbols.

        Inputs that are `known` are constant.
        """
        lines = text.splitlines()
        inputs, latches, outputs, ands = map(int, lines[0].split()[2:6])
        size = inputs + latches + outputs + ands
        rows = [list(map(int, line.split())) for line in lines[1 : size + 1]]
        symbols, aliases = {}, dict[str, str]()
        for line in lines[size + 1 :]:
            if match := re.fullmatch(r"([ilo])(\d+) (.*)", line):
                # All names of a bit; the last has the places that it is in.
                names = match[3].split()
                symbols[match[1] + match[2]] = names[-1]
                if match[1] == "l":
                    aliases |= dict.fromkeys(names, names[-1])
        aig = Aig()
        literals = {0: FALSE}
        registers = {}
        for number, row in enumerate(rows[:inputs]):
            name = symbols[f"i{number}"]
            literals[node_of(row[0])] = int(known[name]) if name in known else aig.input(name)
        for number, row in enumerate(rows[inputs:][:latches]):
            name = symbols.get(f"l{number}", f"register {number}")
            literals[node_of(row[0])] = aig.input(name)
            registers[name] = row[1]
        # Each gate is defined before it is used.
        for gate, one, other in rows[inputs + latches + outputs :]:
            literals[node_of(gate)] = aig.both(
                literals[node_of(one)] ^ (one & 1), literals[node_of(other)] ^ (other & 1)
            )

        def literal(read: int) -> int:
            return literals[node_of(read)] ^ (read & 1)

        after = {name: literal(read) for name, read in registers.items()}
        made = {
            symbols[f"o{number}"]: literal(row[0])
            for number, row in enumerate(rows[inputs + latches :][:outputs])
        }
        return cls(aig, after, made, aliases)


class Unrolled:
    """Builds the logic of several clock cycles as one combinational circuit.

    Parameters
    ----------
    step : one cycle.
    through : registers that are looked through: their value is their next one of the cycle before.
        All others, and the inputs, are inputs of the result, named as ``i_a[3]@-1``.
    cut : a literal of `step` that is an input of the result, ``cut@0``; constants cut nothing.
    """

    def __init__(self, step: Step, through: Iterable[str], cut: int = FALSE):
        self.step = step
        self.through = frozenset(through)
        self.cut = cut
        self.aig = Aig()
        self._built: dict[tuple[int, int], int] = {}

    def literal(self, literal: int, cycle: int) -> int:
        """Return the literal of a value in a cycle."""
        waiting = [(node_of(literal), cycle)]
        while waiting:
            key = waiting[-1]
            needed = (
                []
                if key in self._built
                else [
                    (node_of(need), at)
                    for need, at in self._needs(*key)
                    if (node_of(need), at) not in self._built
                ]
            )
            if needed:
                waiting += needed
                continue
            waiting.pop()
            if key not in self._built:
                self._built[key] = self._make(*key)
        return self._at(literal, cycle)

    def _at(self, literal: int, cycle: int) -> int:
        return self._built[node_of(literal), cycle] ^ (literal & 1)

    def _needs(self, node: int, cycle: int) -> list[tuple[int, int]]:
        """Return of what a node is made, with the cycles."""
        gate = self.step.aig.gates[node]
        if self.cut > TRUE and node == node_of(self.cut):
            return []
        if gate is not None:
            return [(literal, cycle) for literal in gate]
        name = self.step.aig.names.get(node)
        return [(self.step.next[name], cycle - 1)] if name in self.through else []

    def _make(self, node: int, cycle: int) -> int:
        needs = self._needs(node, cycle)
        if len(needs) == 2:
            (one, _), (other, _) = needs
            return self.aig.both(self._at(one, cycle), self._at(other, cycle))
        if needs:
            return self._at(*needs[0])
        if node == 0:
            return FALSE
        if self.cut > TRUE and node == node_of(self.cut):
            return self.aig.input(f"cut@{cycle}") ^ (self.cut & 1)
        return self.aig.input(f"{self.step.aig.names[node]}@{cycle}")
