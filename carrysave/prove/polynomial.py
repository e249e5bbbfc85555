"""Polynomials of bits over the integers, rewritten by definitions of their variables."""

import heapq
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

__all__ = [
    "ONE",
    "Polynomial",
    "Rewritten",
    "TooLargeError",
    "add",
    "literal",
    "product",
    "rewrite",
]

Monomial = tuple[int, ...]
"""Variables, each once, since x x = x of a bit; in ascending order."""
Polynomial = dict[Monomial, int]
"""Coefficients, none of which is zero."""

ONE: Polynomial = {(): 1}


class TooLargeError(ArithmeticError):
    """A polynomial has too many monomials: terms do not cancel as they do in sums of products."""


def add(target: Polynomial, other: Mapping[Monomial, int], factor: int = 1) -> None:
    """Add a polynomial times a number to another one."""
    for monomial, coefficient in other.items():
        total = target.get(monomial, 0) + factor * coefficient
        if total:
            target[monomial] = total
        else:
            target.pop(monomial, None)


def times(one: Monomial, other: Monomial) -> Monomial:
    """Multiply monomials."""
    if not one or not other:
        return one or other
    if len(one) == 1 and len(other) == 1:
        (x,), (y,) = one, other
        return one if x == y else (x, y) if x < y else (y, x)
    return tuple(sorted({*one, *other}))


def product(one: Polynomial, other: Polynomial) -> Polynomial:
    """Multiply polynomials."""
    result: Polynomial = {}
    for left, x in one.items():
        for right, y in other.items():
            monomial = times(left, right)
            total = result.get(monomial, 0) + x * y
            if total:
                result[monomial] = total
            else:
                del result[monomial]
    return result


def literal(read: int) -> Polynomial:
    """Return a literal of a circuit as a polynomial of its node."""
    node = read >> 1
    if not node:
        return dict(ONE) if read & 1 else {}
    return {(): 1, (node,): -1} if read & 1 else {(node,): 1}


@dataclass
class Rewritten:
    """What a polynomial was rewritten to.

    Members
    -------
    rest : what is left.
    factors : of each definition used, by its variable, the polynomial it was multiplied by: the
        polynomial before is `rest`, plus these times (variable - definition), plus 2^width times
        `wrapped`.
    most : monomials that there were at most.
    """

    rest: Polynomial = field(default_factory=dict)
    factors: dict[int, Polynomial] = field(default_factory=dict)
    wrapped: Polynomial = field(default_factory=dict)
    most: int = 0


class _Rest:
    """A polynomial modulo 2^width, and where each of its variables is used."""

    def __init__(self, result: Rewritten, width: int):
        self.terms, self.wrapped = result.rest, result.wrapped
        self.width = width
        self.uses: dict[int, set[Monomial]] = {}

    def put(self, monomial: Monomial, coefficient: int) -> list[int]:
        """Add a term; return the variables that were in no term before."""
        before = self.terms.get(monomial, 0)
        after = before + coefficient
        if self.width and after >> self.width:
            add(self.wrapped, {monomial: after >> self.width})
            after &= (1 << self.width) - 1
        new = []
        if after:
            self.terms[monomial] = after
            if not before:
                new = [variable for variable in monomial if variable not in self.uses]
                for variable in monomial:
                    self.uses.setdefault(variable, set()).add(monomial)
        elif before:
            del self.terms[monomial]
            for variable in monomial:
                self.uses[variable].discard(monomial)
        return new

    def take(self, variable: int) -> Polynomial:
        """Remove all terms of a variable; return what it was multiplied by."""
        factor: Polynomial = {}
        for monomial in list(self.uses[variable]):
            coefficient = self.terms[monomial]
            self.put(monomial, -coefficient)
            factor[tuple(each for each in monomial if each != variable)] = coefficient
        del self.uses[variable]
        return factor


def rewrite(
    start: Polynomial,
    definition: Callable[[int], Polynomial | None],
    order: Callable[[int], tuple[int, ...]],
    *,
    width: int = 0,
    limit: int = 1 << 20,
) -> Rewritten:
    """Replace variables by their definitions, the highest in an order first.

    Parameters
    ----------
    definition : of a variable; None of one that stays.
    order : in which what a definition is made of comes before its variable.
    width : coefficients are modulo 2^width; 0: integers.
    limit : monomials.

    Raises
    ------
    TooLargeError
        If there are more monomials than that.
    """
    result = Rewritten()
    rest = _Rest(result, width)
    waiting: list[tuple[tuple[int, ...], int]] = []

    def put(terms: Polynomial) -> None:
        for monomial, coefficient in terms.items():
            for variable in rest.put(monomial, coefficient):
                if definition(variable) is not None:
                    key = tuple(-part for part in order(variable))
                    heapq.heappush(waiting, (key, variable))

    put(start)
    while waiting:
        _, variable = heapq.heappop(waiting)
        factor = rest.take(variable)
        made = definition(variable)
        if not factor or made is None:
            continue
        result.factors[variable] = factor
        if len(factor) * len(made) > limit:
            raise TooLargeError(f"more than {limit} monomials")
        put(product(factor, made))
        result.most = max(result.most, len(rest.terms))
        if len(rest.terms) > limit:
            raise TooLargeError(f"more than {limit} monomials")
    return result
