"""Operands for which a sum is wrong: looked for at random, or read off a polynomial."""

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from carrysave.prove.aig import FALSE, TRUE, node_of
from carrysave.prove.polynomial import Polynomial
from carrysave.prove.statement import Statement, Weighted

__all__ = ["Counterexample", "of_rest", "search", "values_of", "wrong"]

_PATTERNS = 1 << 12


@dataclass(frozen=True)
class Counterexample:
    """Values for which a statement does not hold.

    Members
    -------
    a, b : codes of the operands, as bit patterns; of each pair.
    clear, taken : bits.
    before : the sum before; all sums are modulo 2^width.
    after, expected : the sum after, and what it should be.
    inputs : all of them, by name.
    """

    a: tuple[int, ...]
    b: tuple[int, ...]
    clear: bool
    taken: bool
    before: int
    after: int
    expected: int
    inputs: Mapping[str, int]


def search(statement: Statement, rounds: int = 1, seed: int = 0) -> Counterexample | None:
    """Evaluate a statement for random operands, many of them of few ones or of few zeros."""
    generator = random.Random(seed)
    for _ in range(rounds):
        inputs = _drawn(statement, generator)
        bad = wrong(statement, inputs, _PATTERNS)
        if bad:
            # A sum that starts anew, with operands that are taken, is soonest seen at the outputs.
            clear, taken = _bits(statement, [statement.clear, statement.taken], inputs, _PATTERNS)
            bad = bad & clear & taken or bad & clear or bad
            place = (bad & -bad).bit_length() - 1
            return values_of(
                statement, {name: value >> place & 1 for name, value in inputs.items()}
            )
    return None


def of_rest(statement: Statement, rest: Polynomial) -> Counterexample:
    """Return values for which a polynomial of inputs, which is not zero, is not zero.

    All but the variables of its shortest monomial are zero, so that no other one counts.
    """
    shortest = min(rest, key=lambda monomial: (len(monomial), monomial))
    return values_of(statement, {statement.aig.names[node]: 1 for node in shortest})


def wrong(statement: Statement, inputs: Mapping[str, int], patterns: int) -> int:
    """Return the patterns for which a statement does not hold, as bits."""
    values = statement.aig.evaluate(inputs, patterns)
    ones = (1 << patterns) - 1

    def bits(literals: Iterable[int]) -> list[int]:
        return [values[node_of(read)] ^ (ones if read & 1 else 0) for read in literals]

    width = statement.width
    expected = [0] * width
    stays = ones ^ bits([statement.clear])[0]
    _add_bits(expected, statement.before, bits, stays)
    taken = bits([statement.taken])[0]
    for a, b in zip(statement.a, statement.b, strict=True):
        left = _extended(bits(a), width, statement.a_signed)
        right = _extended(bits(b), width, statement.b_signed)
        for shift, bit in enumerate(left):
            _add(expected, [bit & taken & each for each in right[: width - shift]], shift)
    actual = [0] * width
    _add_bits(actual, statement.after, bits, ones)
    result = 0
    for one, other in zip(actual, expected, strict=True):
        result |= one ^ other
    return result


def values_of(statement: Statement, inputs: Mapping[str, int]) -> Counterexample:
    """Return what a circuit makes of inputs, as numbers."""

    def bits(literals: Iterable[int]) -> list[int]:
        return _bits(statement, literals, inputs, 1)

    modulus = 1 << statement.width

    def total(weighted: Sequence[Weighted]) -> int:
        read = bits(literal for _, literal in weighted)
        return sum(w * bit for (w, _), bit in zip(weighted, read, strict=True)) % modulus

    def codes(operands: Sequence[Sequence[int]]) -> tuple[int, ...]:
        return tuple(sum(bit << at for at, bit in enumerate(bits(one))) for one in operands)

    a, b = codes(statement.a), codes(statement.b)
    clear, taken = (bool(bit) for bit in bits([statement.clear, statement.taken]))
    before = total(statement.before)
    products = sum(
        _integer(x, len(x_bits), statement.a_signed) * _integer(y, len(y_bits), statement.b_signed)
        for x, x_bits, y, y_bits in zip(a, statement.a, b, statement.b, strict=True)
    )
    expected = (0 if clear else before) + (products if taken else 0)
    after = total(statement.after)
    return Counterexample(a, b, clear, taken, before, after, expected % modulus, dict(inputs))


def _integer(code: int, width: int, signed: bool) -> int:
    return code - (1 << width) if signed and code >> (width - 1) else code


def _bits(
    statement: Statement, literals: Iterable[int], inputs: Mapping[str, int], patterns: int
) -> list[int]:
    values = statement.aig.evaluate(inputs, patterns)
    ones = (1 << patterns) - 1
    return [values[node_of(read)] ^ (ones if read & 1 else 0) for read in literals]


def _drawn(statement: Statement, generator: random.Random) -> dict[str, int]:
    """Draw values of all inputs: of each operand uniform ones, sparse ones, and dense ones."""
    aig, draw = statement.aig, generator.getrandbits
    groups = [*statement.a, *statement.b, [read for _, read in statement.before]]
    inputs = {name: draw(_PATTERNS) for name in aig.names.values()}
    for group in groups:
        sparse, dense, extreme = draw(_PATTERNS), draw(_PATTERNS), draw(_PATTERNS)
        for read in group:
            name = aig.names.get(node_of(read))
            if name is not None:
                few = draw(_PATTERNS) & (draw(_PATTERNS) | ~extreme) & draw(_PATTERNS)
                bit = (inputs[name] & ~sparse) | (few & sparse)
                inputs[name] = bit ^ (((1 << _PATTERNS) - 1) & dense & sparse)
    for read in (statement.clear, statement.taken):
        if read not in (FALSE, TRUE):
            inputs[aig.names[node_of(read)]] = draw(_PATTERNS)
    return inputs


def _extended(bits: list[int], width: int, signed: bool) -> list[int]:
    """Extend a number of bits, each with its patterns, to a width."""
    return (bits + [bits[-1] if signed else 0] * width)[:width]


def _add_bits(
    total: list[int],
    weighted: Sequence[Weighted],
    bits: Callable[[Iterable[int]], list[int]],
    mask: int,
) -> None:
    """Add weighted bits, each with its patterns."""
    read = bits(literal for _, literal in weighted)
    for (weight, _), bit in zip(weighted, read, strict=True):
        for place in range(len(total)):
            if weight >> place & 1:
                _add(total, [bit & mask], place)


def _add(total: list[int], row: Sequence[int], shift: int) -> None:
    """Add a number to a sum, modulo its width."""
    carry = 0
    for place in range(shift, len(total)):
        bit = row[place - shift] if place - shift < len(row) else 0
        if not bit and not carry and place - shift >= len(row):
            return
        before = total[place]
        total[place] = before ^ bit ^ carry
        carry = (before & bit) | ((before ^ bit) & carry)
