"""Checks certificates of `carrysave prove`, with no code of carrysave: Python alone.

``python scripts/check_proof.py STEP.json ...`` reads what is claimed, the circuit beside it
(``STEP.aag``, ASCII AIGER) and the proof (``STEP.pac``, practical algebraic calculus as Pacheck 2
has it). Axioms are made of the circuit here: x7 - x5 x6 is zero where gate 7 is the AND of 5 and 6,
and 2^width is zero. Each step must be a sum of products of earlier ones, where x x = x; and the
last one must be the claim: (after) - (1 - clear) (before) - taken (a b + ...).
"""

import json
import re
import sys
from pathlib import Path
from typing import Any

Poly = dict[frozenset[int], int]


class WrongError(Exception):
    """What is wrong with a certificate."""


def plus(left: Poly, right: Poly, factor: int = 1) -> Poly:
    """Add a polynomial, times a number, to `left`."""
    for term, count in right.items():
        left[term] = left.get(term, 0) + factor * count
        if not left[term]:
            del left[term]
    return left


def times(left: Poly, right: Poly) -> Poly:
    """Multiply; a variable times itself is itself."""
    result: Poly = {}
    for one, i in left.items():
        for two, j in right.items():
            term = one | two
            result[term] = result.get(term, 0) + i * j
    return {term: count for term, count in result.items() if count}


def constant(value: int) -> Poly:
    """Return a number as a polynomial."""
    return {frozenset(): value} if value else {}


def variable(literal: int) -> Poly:
    """Return a literal of an AIGER file."""
    if literal < 2:
        return constant(literal)
    positive: Poly = {frozenset({literal // 2}): 1}
    return plus(constant(1), positive, -1) if literal % 2 else positive


def read_poly(text: str) -> Poly:
    """Read a polynomial such as ``-2*x3*x4+x5+1``."""
    result: Poly = {}
    text = text.replace(" ", "")
    if not re.fullmatch(r"[+-]?(\d+|x\d+)(\*x\d+)*([+-](\d+|x\d+)(\*x\d+)*)*", text):
        raise WrongError(f"no polynomial: {text[:60]!r}")
    for sign, body in re.findall(r"([+-]?)([^+-]+)", text):
        first, *rest = body.split("*")
        count = 1 if first.startswith("x") else int(first)
        names = [first, *rest] if first.startswith("x") else rest
        term = frozenset(int(name[1:]) for name in names)
        plus(result, {term: -count if sign == "-" else count})
    return result


def read_circuit(path: Path) -> tuple[set[int], dict[int, Poly]]:
    """Return the inputs of a circuit, and for each gate the polynomial that is zero."""
    lines = path.read_text().splitlines()
    head = lines[0].split()
    if head[0] != "aag" or head[3] != "0":
        raise WrongError(f"{path}: must be a combinational circuit in ASCII AIGER")
    count, outputs, gates = int(head[2]), int(head[4]), int(head[5])
    inputs = {int(line) // 2 for line in lines[1 : count + 1]}
    known, axioms = inputs | {0}, {}
    for line in lines[1 + count + outputs :][:gates]:
        gate, one, two = map(int, line.split())
        # A gate that reads later ones, or that is there twice, is no definition.
        if gate % 2 or gate // 2 in known or one // 2 not in known or two // 2 not in known:
            raise WrongError(f"{path}: gate {gate} is out of order")
        known.add(gate // 2)
        axioms[gate // 2] = plus(variable(gate), times(variable(one), variable(two)), -1)
    return inputs, axioms


def claim(facts: dict[str, Any], inputs: set[int]) -> Poly:
    """Return the polynomial that must be zero; check that all that is free is an input."""
    bits = [bit for operand in (*facts["a"], *facts["b"]) for bit in operand]
    bits += [literal for _, literal in facts["before"]]
    bits += [literal for literal in (facts["clear"], facts["taken"]) if literal > 1]
    nodes = [literal // 2 for literal in bits]
    if len(set(nodes)) < len(nodes) or not set(nodes) <= inputs:
        raise WrongError("operands, sum before, clear and taken must be different inputs")

    def number(operand: list[int], signed: bool) -> Poly:
        result: Poly = {}
        for place, literal in enumerate(operand):
            top = signed and place == len(operand) - 1
            plus(result, variable(literal), -(1 << place) if top else 1 << place)
        return result

    result: Poly = {}
    for weight, literal in facts["after"]:
        plus(result, variable(literal), weight)
    before: Poly = {}
    for weight, literal in facts["before"]:
        plus(before, variable(literal), weight)
    stays = plus(constant(1), variable(facts["clear"]), -1)
    plus(result, times(stays, before), -1)
    products: Poly = {}
    for a, b in zip(facts["a"], facts["b"], strict=True):
        plus(products, times(number(a, facts["a_signed"]), number(b, facts["b_signed"])))
    return plus(result, times(variable(facts["taken"]), products), -1)


def step(line: str, proven: dict[int, Poly], names: set[int]) -> Poly:
    """Check one line of a proof, and return what it proves, with its number put into `proven`."""
    match = re.fullmatch(r"(\d+) ([%=]) (.*), ([^,]*);", line)
    if match is None:
        raise WrongError(f"no step: {line[:60]!r}")
    number, kind, body, text = int(match[1]), match[2], match[3], match[4]
    if number in proven:
        raise WrongError(f"step {number} is there twice")
    result = read_poly(text)
    if kind == "=":
        # A new variable, which nothing used before, is what it is defined as.
        name = int(body.removeprefix("x"))
        used = {each for term in result for each in term}
        value_is_bit = times(result, result) == result
        if name in names or not used <= names or not value_is_bit:
            raise WrongError(f"step {number} defines no new bit")
        names.add(name)
        proven[number] = plus(dict(result), {frozenset({name}): 1}, -1)
        return proven[number]
    total: Poly = {}
    for part in body.split(" + "):
        pieces = re.fullmatch(r"(\d+)(?: \*\((.*)\))?", part)
        if pieces is None or int(pieces[1]) not in proven:
            raise WrongError(f"step {number} uses what is not proven: {part[:60]!r}")
        used_poly = proven[int(pieces[1])]
        plus(total, times(used_poly, read_poly(pieces[2])) if pieces[2] else used_poly)
    if total != result:
        raise WrongError(f"step {number} does not follow")
    proven[number] = result
    return result


def check(path: Path) -> str:
    """Check a certificate; return what it proves, in words."""
    facts = json.loads(path.read_text())
    inputs, proven = read_circuit(path.with_suffix(".aag"))
    goal = claim(facts, inputs)
    names = inputs | set(proven)
    gates = len(proven)
    modulus = max(names, default=0) + 1
    lines = path.with_suffix(".pac").read_text().splitlines()
    if lines:
        # The modulus comes right before the first step.
        modulus = int(lines[0].split()[0]) - 1
    if modulus in names or modulus < 1:
        raise WrongError(f"the modulus must have a number of its own, not {modulus}")
    proven[modulus] = constant(1 << facts["width"])
    last: Poly = {}
    for line in lines:
        last = step(line, proven, names)
    if last != goal:
        raise WrongError("the last step is not the claim")
    pairs = f" + taken x (products of {len(facts['a'])} pairs)" if facts["a"] else ""
    return (
        f"{path}: proven for {gates} gates in {len(lines)} steps:"
        f" after = (clear ? 0 : before){pairs} modulo 2^{facts['width']}"
    )


def main() -> int:
    """Check all certificates that are named; return 1 if one is wrong."""
    if len(sys.argv) < 2:
        print("usage: python scripts/check_proof.py STEP.json ...", file=sys.stderr)
        return 2
    for name in sys.argv[1:]:
        try:
            print(check(Path(name)))
        except (WrongError, OSError, ValueError, KeyError) as error:
            print(f"{name}: NOT proven: {error}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
