"""What each node of a circuit is, as a polynomial of nodes nearer to the inputs."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from enum import IntEnum

from carrysave.prove.adders import Adder, adders_of, fan_outs
from carrysave.prove.aig import Aig, node_of
from carrysave.prove.carries import Column, Forms, columns_of
from carrysave.prove.polynomial import ONE, Polynomial, add, literal, product

__all__ = ["Definition", "Definitions", "Kind", "gate"]

_LEAVES = 8
"""Most nodes of which a gate that is part of no adder is made a function."""


class Kind(IntEnum):
    """What a node is; of those that are made of the same nodes, sums are rewritten first."""

    GATE = 0
    CARRY = 1
    SUM = 2


@dataclass(frozen=True)
class Definition:
    """A node as a polynomial.

    Members
    -------
    value : the polynomial; of a sum, one of its carry, too.
    leaves : nodes that it is a function of.
    column : of a prefix adder, if it is the sum or the carry of one.
    """

    kind: Kind
    value: Polynomial
    leaves: tuple[int, ...]
    column: Column | None = None


class Definitions:
    """Definitions of all nodes that some outputs depend on.

    Members
    -------
    by_node : the definitions.
    forms : of the carries of prefix adders.
    sums : full and half adders, and other XORs, by the nodes of their sums.
    adders : full and half adders, and columns of prefix adders: how many are used of each.
    """

    def __init__(self, aig: Aig, outputs: Iterable[int]):
        self.aig = aig
        outside = [node_of(each) for each in outputs]
        self.sums = adders_of(aig, outside)
        self.forms = Forms(aig, self.sums)
        self._columns = columns_of(aig, self.sums, self.forms, outside)
        whole = [adder for adder in self.sums.values() if adder.carry is not None]
        self._carries = {node_of(adder.carry or 0): adder for adder in whole}
        self._rippled = {node_of(each.after): each for each in self._columns.values()}
        self._readers = fan_outs(aig)
        self._ends = {
            *outside,
            *self._carries,
            *self._rippled,
            *self.sums,
            *(node_of(operand) for adder in whole for operand in adder.operands),
        }
        self.by_node: dict[int, Definition] = {}
        waiting = outside
        while waiting:
            node = waiting.pop()
            if node not in self.by_node and aig.gates[node] is not None:
                self.by_node[node] = made = self._define(node)
                waiting += made.leaves
                waiting += [each for monomial in made.value for each in monomial]
        self._levels = self._count_levels()

    @property
    def adders(self) -> dict[str, int]:
        """Count the adders that are used."""
        used = [self.sums[node] for node in self.by_node if node in self.sums]
        whole = [adder for adder in used if adder.carry is not None]
        columns = sum(node in self._columns for node in self.by_node)
        full = sum(len(adder.operands) == 3 for adder in whole)
        return {"full": full, "half": len(whole) - full, "prefix": columns}

    def value(self, node: int) -> Polynomial | None:
        """Return the polynomial of a node; None of an input."""
        made = self.by_node.get(node)
        return None if made is None else made.value

    def order(self, node: int) -> tuple[int, int, int]:
        """Return the place of a node in the order of rewriting, which begins with the highest."""
        return self._levels[node], self.by_node[node].kind, node

    def _define(self, node: int) -> Definition:
        if node in self.sums:
            return self._sum(node, self.sums[node])
        if node in self._rippled:
            column = self._rippled[node]
            made = product(literal(column.propagate), literal(column.before))
            parts = [column.propagate, column.before]
            if column.generate is not None:
                add(made, literal(column.generate))
                parts.append(column.generate)
            leaves = tuple(map(node_of, parts))
            return Definition(Kind.CARRY, _node(column.after, made), leaves, column)
        if node in self._carries:
            adder = self._carries[node]
            values = [literal(each) for each in adder.operands]
            assert adder.carry is not None
            leaves = tuple(map(node_of, adder.operands))
            return Definition(Kind.CARRY, _node(adder.carry, _majority(values)), leaves)
        leaves = tuple(sorted(self._leaves(node)))
        return Definition(Kind.GATE, expanded(self.aig, node, leaves), leaves)

    def _sum(self, node: int, adder: Adder) -> Definition:
        """Define a sum by its carry, or by the product of both operands if there is none."""
        total, operands, column = adder.sum, adder.operands, self._columns.get(node)
        if adder.carry is not None:
            carry = literal(adder.carry)
        elif column is not None:
            operands = column.propagate, column.before
            # The same gate, of operands in other phases.
            total ^= sum(each & 1 for each in (*operands, *adder.operands)) & 1
            carry = literal(column.after)
            if column.generate is not None:
                add(carry, literal(column.generate), -1)
        else:
            carry = product(*map(literal, operands))
        made: Polynomial = {}
        for operand in operands:
            add(made, literal(operand))
        add(made, carry, -2)
        return Definition(Kind.SUM, _node(total, made), tuple(map(node_of, operands)), column)

    def _leaves(self, node: int) -> set[int]:
        """Choose what a gate is made a function of: gates with one reader are looked through."""
        leaves = set(map(node_of, self.aig.gates[node] or ()))
        looked = True
        while looked:
            looked = False
            for leaf in sorted(leaves, reverse=True):
                inner = self.aig.gates[leaf]
                if inner is None or leaf in self._ends or len(self._readers[leaf]) > 1:
                    continue
                more = (leaves - {leaf}) | set(map(node_of, inner))
                if len(more) <= _LEAVES:
                    leaves, looked = more, True
                    break
        return leaves

    def _count_levels(self) -> dict[int, int]:
        """Count for each node the definitions between it and the inputs, at most."""
        levels: dict[int, int] = {}
        waiting = list(self.by_node)
        while waiting:
            made = self.by_node.get(waiting[-1])
            missing = [leaf for leaf in made.leaves if leaf not in levels] if made else []
            if missing:
                waiting += missing
                continue
            node = waiting.pop()
            below = [levels[leaf] for leaf in made.leaves] if made else []
            levels[node] = max(below) + 1 if below else 0
        return levels


def gate(aig: Aig, node: int) -> Polynomial | None:
    """Return a node as the product of its gate; None of an input."""
    read = aig.gates[node]
    return None if read is None else product(literal(read[0]), literal(read[1]))


def expanded(aig: Aig, node: int, leaves: Collection[int]) -> Polynomial:
    """Return a node as a polynomial of leaves."""
    values: dict[int, Polynomial] = {leaf: {(leaf,): 1} for leaf in leaves}

    def value(read: int) -> Polynomial:
        return _node(read, values[node_of(read)])

    for each in aig.cone([2 * node], leaves):
        one, other = aig.gates[each] or (0, 0)
        values[each] = product(value(one), value(other))
    return values[node]


def _node(read: int, value: Polynomial) -> Polynomial:
    """Return the node of a literal that has a value, or the literal of such a node."""
    if not read & 1:
        return value
    inverse = dict(ONE)
    add(inverse, value, -1)
    return inverse


def _majority(values: list[Polynomial]) -> Polynomial:
    """Return the carry of two or three bits."""
    both = product(values[0], values[1])
    if len(values) == 2:
        return both
    result = dict(both)
    add(result, product(both, values[2]), -2)
    add(result, product(values[0], values[2]))
    add(result, product(values[1], values[2]))
    return result
