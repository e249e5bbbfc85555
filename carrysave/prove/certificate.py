"""Certificates: a claim, its circuit, and the steps of its proof, as files."""

import json
from collections.abc import Iterator
from pathlib import Path

from carrysave.prove.definitions import gate
from carrysave.prove.derivation import Derivation
from carrysave.prove.polynomial import Polynomial, add
from carrysave.prove.statement import Statement

__all__ = ["write_certificate"]


def write_certificate(
    name: str, statement: Statement, derivation: Derivation, folder: Path
) -> list[Path]:
    """Write a certificate: what is claimed, the circuit, and the proof."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = {
        "json": json.dumps(statement.facts(), indent=1) + "\n",
        "aag": statement.circuit(),
        "polys": "".join(f"{line}\n" for line in _axioms(derivation, statement.width)),
        "pac": "".join(f"{line}\n" for line in _steps(derivation)),
    }
    files = []
    for suffix, content in texts.items():
        files.append(folder / f"{name}.{suffix}")
        files[-1].write_text(content)
    return files


def _steps(derivation: Derivation) -> Iterator[str]:
    """Write a proof, a line for each step, in the format of Pacheck 2: variables are x1, x2, ..."""
    for rule in derivation.rules:
        if rule.combination is None:
            yield f"{rule.number} = x{rule.number}, {_written(rule.conclusion)};"
        else:
            sums = " + ".join(
                f"{number}" if factor == {(): 1} else f"{number} *({_written(factor)})"
                for number, factor in rule.combination
            )
            yield f"{rule.number} % {sums}, {_written(rule.conclusion)};"


def _axioms(derivation: Derivation, width: int) -> Iterator[str]:
    """Write the gates that a proof uses, and the modulus, as polynomials that are zero."""
    aig = derivation.aig
    for node in range(len(aig.gates)):
        made = gate(aig, node)
        if made is not None:
            claim: Polynomial = {(node,): 1}
            add(claim, made, -1)
            yield f"{node} {_written(claim)};"
    yield f"{derivation.modulus} {1 << width};"


def _written(value: Polynomial) -> str:
    """Write a polynomial, such as ``-2*x3*x4+x5+1``."""
    terms = []
    for monomial, coefficient in value.items():
        names = [f"x{each}" for each in monomial]
        if abs(coefficient) != 1 or not names:
            names.insert(0, str(abs(coefficient)))
        terms.append(("-" if coefficient < 0 else "+") + "*".join(names))
    return "".join(terms).removeprefix("+") or "0"
