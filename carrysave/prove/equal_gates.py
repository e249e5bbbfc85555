"""Gates of a netlist that equal gates of the design it was made of, each proven by algebra.

Where synthesis has changed the adders, a sum can no longer be rewritten adder by adder; but most
wires are still there. From the inputs on, each gate that has the values of one of the design's, for
operands that are drawn, is proven to be it: as polynomials of a few gates that both are made of,
where what was proven before stands for the design's own. Sweeping as by A. Kuehlmann and F. Krohm,
"Equivalence Checking Using Cuts and Heaps" (DAC 1997), with polynomials in place of BDDs.
"""

import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from carrysave.prove.aig import Aig, node_of
from carrysave.prove.definitions import gate
from carrysave.prove.polynomial import Polynomial, TooLargeError, add, literal, rewrite

__all__ = ["Equal", "equal_gates", "needed"]

_PATTERNS = 4096
_SEED = 1
_LEAVES = 24
"""Most gates of which two are compared as functions."""
_FEW = 8
"""Leaves of which no fewer are looked for."""
_CHECKS = 256
"""Patterns that show most of those that differ, before anything is rewritten."""
_MONOMIALS = 1 << 13
_CANDIDATES = 6
_Order = Callable[[int, int], tuple[int, int]]
_ORDERS: tuple[_Order, ...] = (lambda more, node: (more, -node), lambda _, node: (0, -node))
"""Which leaf is looked into next: that with the fewest more, or the farthest from the inputs."""


@dataclass(frozen=True)
class Equal:
    """A gate's literal of the design, and why: what each definition was multiplied by.

    The gate minus the literal is the sum of `factors`, each times (a node minus what it is).
    """

    read: int
    factors: Mapping[int, Polynomial]


def equal_gates(aig: Aig, guide: int) -> dict[int, Equal]:
    """Return the gates that equal those of the design.

    Parameters
    ----------
    guide : nodes of the design, which are the first ones; the netlist's come after them.
    """
    return _Sweep(aig, guide).equal


def needed(equal: Mapping[int, Equal], wanted: Iterable[int]) -> list[int]:
    """Return the gates that the proofs of some take, in an order in which each is proven."""
    result, waiting = set[int](), list(wanted)
    while waiting:
        node = waiting.pop()
        if node in equal and node not in result:
            result.add(node)
            waiting += [each for each in equal[node].factors if each != node]
    return sorted(result)


class _Sweep:
    """Compares the netlist's gates with the design's, from the inputs on."""

    def __init__(self, aig: Aig, guide: int):
        self.aig, self.guide = aig, guide
        self.equal: dict[int, Equal] = {}
        self._random = random.Random(_SEED)
        ones = (1 << _PATTERNS) - 1
        drawn = {name: self._random.getrandbits(_PATTERNS) for name in aig.names.values()}
        values = aig.evaluate(drawn, _PATTERNS)
        alike: dict[int, list[int]] = defaultdict(list)
        for node in range(guide):
            alike[min(values[node], values[node] ^ ones)].append(node)
        for node in range(guide, len(aig.gates)):
            value = values[node]
            for other in alike.get(min(value, value ^ ones), ())[:_CANDIDATES]:
                made = self._compare(node, 2 * other ^ int(values[other] != value))
                if made is not None:
                    self.equal[node] = made
                    break

    def _compare(self, node: int, read: int) -> Equal | None:
        """Prove that a gate is a literal of the design."""
        claim: Polynomial = {(node,): 1}
        add(claim, literal(read), -1)
        for order in _ORDERS:
            best: set[int] | None = None
            for leaves in self._cuts(node, node_of(read), order):
                if (best is None or len(leaves) < len(best)) and not self._differ(
                    node, read, leaves
                ):
                    best = leaves
                    if len(best) <= _FEW:
                        break
            if best is None:
                continue
            try:
                rewritten = rewrite(
                    claim,
                    partial(self._value, best),
                    lambda each: (each,),
                    limit=_MONOMIALS,
                )
            except TooLargeError:
                continue
            if not rewritten.rest:
                return Equal(read, rewritten.factors)
        return None

    def _value(self, leaves: set[int], node: int) -> Polynomial | None:
        """Return what a gate is made of; None of a leaf."""
        if node in leaves:
            return None
        made = self.equal.get(node)
        return gate(self.aig, node) if made is None else literal(made.read)

    def _operands(self, node: int) -> tuple[int, ...]:
        """Return the nodes that a gate is made of, of the design where they are proven to be."""
        read = self.aig.gates[node] or ()
        return tuple(
            node_of(self.equal[node_of(each)].read if node_of(each) in self.equal else each)
            for each in read
        )

    def _cuts(self, node: int, other: int, order: _Order) -> Iterator[set[int]]:
        """Yield sets of gates that two are functions of, nearer and nearer to the inputs."""
        leaves = {node, other} - {0}
        while len(leaves) <= _LEAVES:
            inner = {
                each: {operand for operand in self._operands(each) if operand}
                for each in leaves
                if self.aig.gates[each] is not None
            }
            if not inner:
                return
            first = node if node in inner else other if other in inner else None
            if first is None:
                first = min(inner, key=lambda each: order(len(inner[each] - leaves), each))
            leaves = (leaves - {first}) | inner[first]
            if node not in leaves:
                yield leaves

    def _differ(self, node: int, read: int, leaves: set[int]) -> bool:
        """Return whether two gates differ for values of leaves that are drawn."""
        values = {each: self._random.getrandbits(_CHECKS) for each in leaves} | {0: 0}
        ones = (1 << _CHECKS) - 1

        def value(each: int) -> int:
            made = self.equal.get(node_of(each)) if node_of(each) not in values else None
            each = each if made is None else made.read ^ (each & 1)
            return values[node_of(each)] ^ (ones if each & 1 else 0)

        inside, waiting = set[int](), [node, node_of(read)]
        while waiting:
            each = waiting.pop()
            if each not in values and each not in inside:
                inside.add(each)
                waiting += self._operands(each)
        for each in sorted(inside):
            one, two = map(value, self.aig.gates[each] or (0, 0))
            values[each] = one & two
        return values[node] != value(read)
