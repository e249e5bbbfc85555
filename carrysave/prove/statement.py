"""What is proven: sums of weighted bits, as a polynomial that is zero modulo 2^width."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from carrysave.prove.aig import FALSE, Aig, node_of
from carrysave.prove.polynomial import ONE, Polynomial, add, literal, product

__all__ = ["Statement", "Weighted"]

Weighted = tuple[int, int]
"""A weight and a literal."""


@dataclass(frozen=True, kw_only=True)
class Statement:
    """after = (clear ? 0 : before) + taken x (sum over pairs of a x b), modulo 2^width.

    Members
    -------
    after, before : sums of weighted bits.
    a, b : bits of the operands, lowest first; of each pair.
    clear, taken : literals; FALSE if there is none.
    """

    aig: Aig
    width: int
    after: Sequence[Weighted]
    before: Sequence[Weighted]
    a: Sequence[Sequence[int]] = ()
    b: Sequence[Sequence[int]] = ()
    a_signed: bool = False
    b_signed: bool = False
    clear: int = FALSE
    taken: int = FALSE

    @property
    def outputs(self) -> list[int]:
        """Literals of what is proven to be a function of the others."""
        return [read for _, read in self.after]

    @property
    def polynomial(self) -> Polynomial:
        """The polynomial that is zero: after, minus what it should be."""
        result = _sum(self.after)
        stays = dict(ONE)
        add(stays, literal(self.clear), -1)
        add(result, product(stays, _sum(self.before)), -1)
        products: Polynomial = {}
        for a, b in zip(self.a, self.b, strict=True):
            left, right = _number(a, self.a_signed), _number(b, self.b_signed)
            add(products, product(left, right))
        add(result, product(literal(self.taken), products), -1)
        return result

    def facts(self) -> dict[str, Any]:
        """Return all but the circuit, for JSON; literals are those of the circuit's file."""
        return {
            "width": self.width,
            "after": [list(each) for each in self.after],
            "before": [list(each) for each in self.before],
            "a": [list(bits) for bits in self.a],
            "b": [list(bits) for bits in self.b],
            "a_signed": self.a_signed,
            "b_signed": self.b_signed,
            "clear": self.clear,
            "taken": self.taken,
        }

    def circuit(self) -> str:
        """Return the circuit as an ASCII AIGER file, whose outputs are those of :attr:`after`."""
        return self.aig.text(self.outputs)

    def named(self, literals: Iterable[int]) -> list[str]:
        """Return the names of inputs."""
        return [self.aig.names[node_of(read)] for read in literals]


def _sum(bits: Iterable[Weighted]) -> Polynomial:
    result: Polynomial = {}
    for weight, read in bits:
        add(result, literal(read), weight)
    return result


def _number(bits: Sequence[int], signed: bool) -> Polynomial:
    """Return an integer of bits; in two's complement the highest counts negative."""
    weights = [1 << place for place in range(len(bits))]
    if signed:
        weights[-1] = -weights[-1]
    return _sum(zip(weights, bits, strict=True))
