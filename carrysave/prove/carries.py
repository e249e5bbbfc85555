"""Carries of prefix adders: proven to be those of a ripple adder, column by column."""

import random
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from carrysave.prove.adders import Adder, fan_outs, is_read
from carrysave.prove.aig import Aig, node_of

__all__ = ["Column", "Form", "Forms", "columns_of", "complement", "excluded", "multiply"]

_PATTERNS = 4096
_SEED = 1
_LARGEST = 1 << 15
"""Products of monomials for one gate."""

Form = dict[int, int]
"""Coefficients by monomial, a set of variables as bits. Of a pair, bit 2 j is the propagate and
bit 2 j + 1 the generate: never are both one."""


@dataclass(frozen=True)
class Column:
    """A column of an adder: after = generate + propagate x before, sum = propagate ^ before.

    All are literals; `generate` is None where a column has one bit.
    """

    propagate: int
    generate: int | None
    before: int
    after: int


class Forms:
    """Gates of carries as polynomials of propagates, generates and single bits.

    Members
    -------
    variables : literal of each variable, by its bit.
    made : form of each node looked at; None if it is too large.
    leaves : nodes that are variables, if they are looked at.
    pairs : literals of a propagate and a generate, by the nodes of both.
    """

    def __init__(self, aig: Aig, adders: Mapping[int, Adder]):
        self.aig = aig
        self.variables: dict[int, int] = {}
        self.made: dict[int, Form | None] = {0: {}}
        self.pairs: dict[int, tuple[int, int]] = {}
        for adder in adders.values():
            if adder.carry is not None and len(adder.operands) == 2:
                for literal in (adder.sum, adder.carry):
                    self.pairs.setdefault(node_of(literal), (adder.sum, adder.carry))
        self.leaves = {*self.pairs, *adders}

    def of(self, literal: int) -> Form | None:
        """Return the form of a literal; None if it is too large."""
        for node in self.aig.cone([literal], self.leaves):
            if node not in self.made:
                gate = self.aig.gates[node]
                assert gate is not None
                one, other = map(self.read, gate)
                self.made[node] = None if one is None or other is None else multiply(one, other)
        return self.read(literal)

    def read(self, literal: int) -> Form | None:
        """Return the form of a literal of which the gates below have theirs."""
        node = node_of(literal)
        if node not in self.made:
            self.made[node] = self._variable(node)
        form = self.made[node]
        return complement(form) if form is not None and literal & 1 else form

    def _variable(self, node: int) -> Form:
        pair = self.pairs.get(node, (2 * node,))
        known = {literal: bit for bit, literal in self.variables.items()}
        if pair[0] not in known:
            start = 2 * len(self.variables)
            known = {literal: start + place for place, literal in enumerate(pair)}
            self.variables |= {bit: literal for literal, bit in known.items()}
        literal = next(each for each in pair if node_of(each) == node)
        form = {1 << known[literal]: 1}
        return complement(form) if literal & 1 else form


def complement(form: Form) -> Form:
    """Return one minus a form."""
    result = {monomial: -coefficient for monomial, coefficient in form.items()}
    result[0] = result.get(0, 0) + 1
    if not result[0]:
        del result[0]
    return result


def multiply(one: Form, other: Form) -> Form | None:
    """Multiply forms; None if that takes too long."""
    if len(one) * len(other) > _LARGEST:
        return None
    result: Form = {}
    for x, i in one.items():
        for y, j in other.items():
            if not excluded(x | y):
                result[x | y] = result.get(x | y, 0) + i * j
    return {monomial: coefficient for monomial, coefficient in result.items() if coefficient}


def excluded(monomial: int) -> int:
    """Return the propagates whose generates are in a monomial, too, which is zero then; as bits."""
    even = int("01" * (monomial.bit_length() // 2 + 1), 2)
    return monomial & (monomial >> 1) & even


def columns_of(
    aig: Aig, adders: Mapping[int, Adder], forms: Forms, outside: Collection[int]
) -> dict[int, Column]:
    """Return the columns of prefix adders, by the node of their sum.

    Which gate has the carry of a column is guessed from values for random inputs, and then proven.
    """
    readers = fan_outs(aig)
    generator = random.Random(_SEED)
    inputs = {name: generator.getrandbits(_PATTERNS) for name in aig.names.values()}
    values = aig.evaluate(inputs, _PATTERNS)
    ones = (1 << _PATTERNS) - 1

    def value(literal: int) -> int:
        return values[node_of(literal)] ^ (ones if literal & 1 else 0)

    by_value: dict[int, list[int]] = defaultdict(list)
    for node, gate in enumerate(aig.gates):
        if gate is not None:
            for literal in (2 * node, 2 * node + 1):
                by_value[value(literal)].append(literal)
    result: dict[int, Column] = {}
    taken: dict[int, Column | None] = dict.fromkeys(adders)
    for node, adder in adders.items():
        if adder.carry is not None:
            continue
        for propagate, generate, before in _guesses(adder, adders):
            carry = value(propagate) & value(before)
            carry |= value(generate) if generate is not None else 0
            columns = (
                Column(propagate, generate, before, after)
                for after in by_value.get(carry, ())
                if node_of(after) not in taken and is_read(node_of(after), readers, outside, node)
            )
            holding = (each for each in columns if _holds(forms, each))
            made = next((each for each in holding if not _circular(aig, taken, each)), None)
            if made is not None:
                result[node] = taken[node_of(made.after)] = made
                break
    return result


def _circular(aig: Aig, columns: Mapping[int, Column | None], column: Column) -> bool:
    """Return whether the carry before a column depends on the one after it.

    Parameters
    ----------
    columns : those so far, by the carry after each, which is made of the one before.
    """
    waiting, seen = [column.before, column.propagate], set()
    while waiting:
        node = node_of(waiting.pop())
        if node == node_of(column.after):
            return True
        if node not in seen:
            seen.add(node)
            waiting += aig.gates[node] or ()
            other = columns.get(node)
            waiting += [other.before] if other is not None else []
    return False


def _guesses(adder: Adder, adders: Mapping[int, Adder]) -> Iterator[tuple[int, int | None, int]]:
    """Yield what may be the propagate, the generate and the carry before a column."""
    one, other = adder.operands
    for half, before in ((one, other), (other, one)):
        inner = adders.get(node_of(half))
        if inner is not None and inner.carry is not None and len(inner.operands) == 2:
            for phase in (0, 1):
                yield inner.sum, inner.carry, before ^ phase
    for phases in range(4):
        yield one ^ (phases & 1), None, other ^ (phases >> 1)


def _holds(forms: Forms, column: Column) -> bool:
    """Return whether a column is one, for all inputs."""
    after, before, propagate = map(forms.of, (column.after, column.before, column.propagate))
    if after is None or before is None or propagate is None:
        return False
    made = multiply(propagate, before)
    generate = {} if column.generate is None else forms.of(column.generate)
    if made is None or generate is None:
        return False
    for monomial, coefficient in generate.items():
        made[monomial] = made.get(monomial, 0) + coefficient
    return {monomial: factor for monomial, factor in made.items() if factor} == after
