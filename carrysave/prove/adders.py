"""Finds the full and half adders of a circuit, by structure and truth table."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from carrysave.prove.aig import Aig, node_of

__all__ = ["Adder", "adders_of", "exclusive_ors", "fan_outs", "is_read"]


@dataclass(frozen=True)
class Adder:
    """A full or half adder, or an XOR alone: 2 carry + sum = x + y (+ z), each a literal.

    Members
    -------
    sum : literal of the sum; its node computes the XOR of the operands' nodes, or its complement.
    carry : literal of the carry; None if there is none.
    operands : literals, two or three.
    """

    sum: int
    carry: int | None
    operands: tuple[int, ...]


def exclusive_ors(aig: Aig) -> dict[int, tuple[int, int, int]]:
    """Return the nodes that are XORs of two nodes, which come with 1 if it is an XNOR."""
    result = {}
    for node, gate in enumerate(aig.gates):
        if gate is None or not gate[0] & gate[1] & 1:
            continue
        one, other = (aig.gates[node_of(literal)] for literal in gate)
        if one is None or other is None:
            continue
        # ~(x y) ~(~x ~y) is x ^ y.
        if (one[0] ^ 1, one[1] ^ 1) == other:
            result[node] = node_of(one[0]), node_of(one[1]), (one[0] ^ one[1]) & 1
    return result


def fan_outs(aig: Aig) -> dict[int, list[int]]:
    """Return for each node the gates that read it."""
    result: dict[int, list[int]] = defaultdict(list)
    for node, gate in enumerate(aig.gates):
        for literal in gate or ():
            result[node_of(literal)].append(node)
    return result


def adders_of(aig: Aig, outside: Collection[int]) -> dict[int, Adder]:
    """Return an adder for each node that is an XOR, by this node; with a carry where there is one.

    Parameters
    ----------
    outside : nodes that are read outside of the circuit.
    """
    exclusive, readers = exclusive_ors(aig), fan_outs(aig)
    result = {}
    for node, (x, y, odd) in exclusive.items():
        triples = [
            (other, *exclusive[deep][:2])
            for deep, other in ((x, y), (y, x))
            if deep in exclusive and other not in exclusive[deep][:2]
        ]
        adder = None
        for operands in [*(tuple(sorted(each)) for each in triples), (min(x, y), max(x, y))]:
            adder = _with_carry(aig, readers, node, operands, outside)
            if adder is not None:
                break
        result[node] = adder or Adder(2 * node ^ odd, None, (2 * x, 2 * y))
    return result


def _with_carry(
    aig: Aig,
    readers: Mapping[int, Sequence[int]],
    total: int,
    operands: tuple[int, ...],
    outside: Collection[int],
) -> Adder | None:
    """Return the adder of a sum and of operands, if its carry is among the gates of these."""
    tables = _functions(aig, readers, operands)
    size = 1 << len(operands)
    full = (1 << size) - 1
    assert total in tables
    for carry, table in tables.items():
        if carry in operands or carry == total:
            continue
        if len(operands) == 2 and not is_read(carry, readers, outside, total):
            continue
        for phases in product((0, 1), repeat=len(operands)):
            for out in (0, 1):
                if table ^ (full if out else 0) == _CARRY[phases]:
                    odd = sum(phases) & 1
                    parity = _PARITY[len(operands)] ^ (full if odd else 0)
                    inverted = int(tables[total] != parity)
                    literals = tuple(
                        2 * n ^ phase for n, phase in zip(operands, phases, strict=True)
                    )
                    return Adder(2 * total ^ inverted, 2 * carry ^ out, literals)
    return None


def is_read(
    node: int, readers: Mapping[int, Sequence[int]], outside: Collection[int], total: int
) -> bool:
    """Return whether a gate is more than a part of a sum's XOR."""
    return node in outside or any(reader != total for reader in readers[node])


def _functions(
    aig: Aig, readers: Mapping[int, Sequence[int]], operands: tuple[int, ...]
) -> dict[int, int]:
    """Return the truth tables of all gates that are functions of the operands' gates alone."""
    size = 1 << len(operands)
    full = (1 << size) - 1
    tables = {0: 0}
    for place, node in enumerate(operands):
        tables[node] = sum(1 << row for row in range(size) if row >> place & 1)
    waiting = list(operands)
    while waiting:
        for reader in readers[waiting.pop()]:
            gate = aig.gates[reader]
            assert gate is not None
            if reader not in tables and all(node_of(literal) in tables for literal in gate):
                one, other = (
                    tables[node_of(literal)] ^ (full if literal & 1 else 0) for literal in gate
                )
                tables[reader] = one & other
                waiting.append(reader)
    del tables[0]
    return tables


def _table(phases: tuple[int, ...]) -> int:
    """Return the truth table of the carry of operands in these phases."""
    rows = range(1 << len(phases))
    return sum(
        (sum((row >> place & 1) ^ phase for place, phase in enumerate(phases)) >= 2) << row
        for row in rows
    )


_CARRY = {phases: _table(phases) for count in (2, 3) for phases in product((0, 1), repeat=count)}
_PARITY = {
    count: sum((row.bit_count() & 1) << row for row in range(1 << count)) for count in (2, 3)
}
