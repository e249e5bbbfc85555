"""A proof in the practical algebraic calculus: steps, each a linear combination of others."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from carrysave.prove.aig import Aig, node_of
from carrysave.prove.carries import Column, Form, excluded
from carrysave.prove.definitions import Definition, Definitions, Kind, gate
from carrysave.prove.equal_gates import Equal, needed
from carrysave.prove.polynomial import Polynomial, Rewritten, add, literal, rewrite

__all__ = ["Derivation"]

Combination = list[tuple[int, Polynomial]]
"""Earlier steps, by their numbers, each times a polynomial."""


@dataclass(frozen=True)
class Rule:
    """One step: a linear combination, or a new variable if there is none.

    A new variable has the number of its step, and `conclusion` is what it is.
    """

    number: int
    combination: Combination | None
    conclusion: Polynomial


class Derivation:
    """Collects the steps that prove a polynomial to be zero, by the gates of a circuit.

    Axioms are numbered as their nodes, and 2^width as the number after those. Variables are
    nodes; complements have variables of their own where products of many are needed.

    Parameters
    ----------
    aig : the definitions' circuit, or one that begins with it.
    """

    def __init__(self, definitions: Definitions, aig: Aig):
        self.definitions = definitions
        self.aig = aig
        self.modulus = len(self.aig.gates)
        self.rules: list[Rule] = []
        self._lemmas: dict[int, int] = {}
        self._formed: dict[int, int | None] = {}
        self._exclusive: dict[int, int] = {}
        self._complements: dict[int, int] = {}

    def conclude(self, start: Polynomial, rewritten: Rewritten) -> None:
        """Derive a polynomial of what rewriting it to nothing took."""
        order = sorted(rewritten.factors, key=self.definitions.order)
        parts = [(self._lemma(node), rewritten.factors[node]) for node in order]
        self._combine([*parts, (self.modulus, rewritten.wrapped)], start)

    def follow(
        self, equal: Mapping[int, Equal], replaced: Mapping[int, int], claim: Polynomial
    ) -> None:
        """Derive a claim about a netlist from that about its design, which is the last step.

        Parameters
        ----------
        replaced : how often each gate is in place of the one that it equals, by its node.
        """
        last: Combination = [(self.rules[-1].number, {(): 1})]
        steps: dict[int, int] = {}
        for node in needed(equal, replaced):
            made = equal[node]
            difference: Polynomial = {(node,): 1}
            add(difference, literal(made.read), -1)
            parts = [(steps.get(each, each), factor) for each, factor in made.factors.items()]
            steps[node] = self._combine(parts, difference)
        for node, often in replaced.items():
            last.append((steps[node], {(): often} if often else {}))
        self._combine(last, claim)

    def _combine(self, parts: Combination, conclusion: Polynomial) -> int:
        return self._rule([part for part in parts if part[1]], conclusion)

    def _rule(self, parts: Combination | None, conclusion: Polynomial) -> int:
        number = self.modulus + 1 + len(self.rules)
        self.rules.append(Rule(number, parts, conclusion))
        return number

    def _lemma(self, node: int) -> int:
        """Derive what a definition says: its node minus its value is zero."""
        if node not in self._lemmas:
            made = self.definitions.by_node[node]
            claim: Polynomial = {(node,): 1}
            add(claim, made.value, -1)
            if made.kind == Kind.CARRY and made.column is not None:
                parts = self._rippled(made.column)
            else:
                parts = self._reduced(node, made, claim)
            self._lemmas[node] = self._combine(parts, claim)
        return self._lemmas[node]

    def _reduced(self, node: int, made: Definition, claim: Polynomial) -> Combination:
        """Derive a claim about a few gates, by each of them."""
        after = node_of(made.column.after) if made.column is not None else None
        if after is None:
            inside = self.aig.cone((2 * each for (each,) in _single(claim)), made.leaves)
        else:
            inside = self.aig.cone([2 * node], made.leaves)
        gates = set(inside)

        def value(each: int) -> Polynomial | None:
            if each == after:
                return self.definitions.value(each)
            return gate(self.aig, each) if each in gates else None

        reduced = rewrite(claim, value, lambda each: (each == after, each))
        assert not reduced.rest, "a definition is wrong"
        return [
            (self._lemma(each) if each == after else each, factor)
            for each, factor in reduced.factors.items()
        ]

    def _rippled(self, column: Column) -> Combination:
        """Derive the carry of a column of a prefix adder, by the forms of both carries."""
        forms = self.definitions.forms
        before, propagate = (forms.of(each) or {} for each in (column.before, column.propagate))
        sign = -1 if column.after & 1 else 1
        parts: Combination = []
        self._use(parts, column.after, {(): sign})
        if column.generate is not None:
            self._use(parts, column.generate, {(): -sign})
        self._use(parts, column.propagate, _scaled(literal(column.before), -sign))
        self._use(parts, column.before, _scaled(self._polynomial(propagate), -sign))
        self._exclude(parts, propagate, before, -sign)
        return parts

    def _use(self, parts: Combination, read: int, factor: Polynomial) -> None:
        """Add what says that a literal is its form, times a polynomial."""
        number = self._form(node_of(read))
        if number is not None:
            parts.append((number, _scaled(factor, -1 if read & 1 else 1)))

    def _form(self, node: int) -> int | None:
        """Derive that a node is its form; None of a variable."""
        for each in [*self.aig.cone([2 * node], self.definitions.forms.leaves), node]:
            if each not in self._formed:
                self._formed[each] = self._formed_of(each)
        return self._formed[node]

    def _formed_of(self, node: int) -> int | None:
        forms = self.definitions.forms
        claim: Polynomial = {(node,): 1}
        add(claim, self._polynomial(forms.of(2 * node) or {}), -1)
        if not claim:
            return None
        read = self.aig.gates[node]
        if node in forms.leaves or read is None:
            return self._combine([(self._complement(node), {(): -1})], claim)
        one, other = (forms.of(each) or {} for each in read)
        parts: Combination = [(node, {(): 1})]
        for part in read:
            self._form(node_of(part))
        self._use(parts, read[0], literal(read[1]))
        self._use(parts, read[1], self._polynomial(one))
        self._exclude(parts, one, other, 1)
        return self._combine(parts, claim)

    def _exclude(self, parts: Combination, one: Form, other: Form, sign: int) -> None:
        """Add the products of two forms that are zero, as both of a pair are in them."""
        factors: dict[int, Polynomial] = {}
        for x, i in one.items():
            for y, j in other.items():
                if both := excluded(x | y):
                    low = both & -both
                    rest = self._monomial((x | y) & ~(3 * low))
                    add(factors.setdefault(low.bit_length() - 1, {}), {rest: sign * i * j})
        parts += [(self._never(bit), factor) for bit, factor in factors.items() if factor]

    def _never(self, bit: int) -> int:
        """Derive that the propagate and the generate of a pair are never both one."""
        if bit not in self._exclusive:
            variables = self.definitions.forms.variables
            adder = self.definitions.sums[node_of(variables[bit])]
            leaves = tuple(map(node_of, adder.operands))
            gates = set(self.aig.cone([variables[bit], variables[bit + 1]], leaves))
            claim = {self._monomial(3 << bit): 1}
            complements = {number: node for node, number in self._complements.items()}

            def value(each: int) -> Polynomial | None:
                if each in complements:
                    return {(): 1, (complements[each],): -1}
                return gate(self.aig, each) if each in gates else None

            reduced = rewrite(claim, value, lambda each: (each,))
            assert not reduced.rest, "a pair is wrong"
            parts = [
                (each, _scaled(factor, -1) if each in complements else factor)
                for each, factor in reduced.factors.items()
            ]
            self._exclusive[bit] = self._combine(parts, claim)
        return self._exclusive[bit]

    def _polynomial(self, form: Form) -> Polynomial:
        return {self._monomial(monomial): factor for monomial, factor in form.items()}

    def _monomial(self, form: int) -> tuple[int, ...]:
        result = []
        while form:
            low = form & -form
            form ^= low
            read = self.definitions.forms.variables[low.bit_length() - 1]
            result.append(self._complement(node_of(read)) if read & 1 else node_of(read))
        return tuple(sorted(result))

    def _complement(self, node: int) -> int:
        """Return the variable that is a node's complement."""
        if node not in self._complements:
            self._complements[node] = self._rule(None, {(): 1, (node,): -1})
        return self._complements[node]


def _single(claim: Polynomial) -> Iterator[tuple[int, ...]]:
    """Return the variables that stand alone."""
    return (monomial for monomial in claim if len(monomial) == 1)


def _scaled(value: Polynomial, factor: int) -> Polynomial:
    return {monomial: factor * coefficient for monomial, coefficient in value.items()}
