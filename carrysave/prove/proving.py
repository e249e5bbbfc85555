"""One statement, and what becomes of it: proven by algebra, refuted, or open."""

import time
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path

from carrysave.prove.aig import node_of
from carrysave.prove.beside import Beside
from carrysave.prove.by_sat import equal_by_sat
from carrysave.prove.certificate import write_certificate
from carrysave.prove.counterexample import Counterexample, of_rest, search
from carrysave.prove.definitions import Definitions
from carrysave.prove.derivation import Derivation
from carrysave.prove.equal_gates import Equal, equal_gates
from carrysave.prove.polynomial import TooLargeError, rewrite
from carrysave.prove.statement import Statement

__all__ = ["LIMIT", "Part", "Verdict", "prove_statement"]

LIMIT = 1 << 18
"""Monomials at which a proof is given up; 64 x 64 bits take 7,000, with Booth's digits 50,000."""
_ROUNDS = 64
"""Rounds of random operands before it is given up."""
_NO_CERTIFICATE = "that outputs equal the design's is by ABC's SAT solver: no certificate"


class Verdict(Enum):
    """What is known of a statement."""

    PROVEN = "proven"
    REFUTED = "refuted"
    OPEN = "open"


@dataclass(frozen=True)
class Part:
    """One statement, and what became of it.

    Members
    -------
    name : ``value``: what the outputs say of the accumulator; ``step``: what a cycle adds.
    adders : full and half adders, and columns of prefix adders, that were recognised.
    monomials : most that there were at a time.
    steps : of the derivation; 0 if there is none.
    equal : gates of a netlist that are proven to equal the design's; 0 without one.
    why : why it is open, or has no certificate; else empty.
    """

    name: str
    statement: Statement
    verdict: Verdict
    adders: Mapping[str, int]
    monomials: int = 0
    steps: int = 0
    equal: int = 0
    seconds: float = 0.0
    why: str = ""
    fault: Counterexample | None = None


def prove_statement(
    name: str,
    statement: Statement,
    folder: Path | None,
    files: list[Path],
    mapped: Beside | None = None,
) -> Part:
    """Prove a statement, or find a counterexample; write the certificate of a proof.

    Parameters
    ----------
    files : to which the certificate's are added.
    mapped : netlist of which it is proven, by what is proven of the design.
    """
    began = time.monotonic()
    claimed = statement if mapped is None else mapped.of(statement)
    part = Part(name, claimed, Verdict.OPEN, {})
    if (fault := search(claimed)) is not None:
        return _refuted(part, fault, began)
    definitions = Definitions(statement.aig, statement.outputs)
    part = replace(part, adders=definitions.adders)
    start = statement.polynomial
    try:
        rewritten = rewrite(
            start, definitions.value, definitions.order, width=statement.width, limit=LIMIT
        )
    except TooLargeError as error:
        return _undecided(part, str(error), began)
    part = replace(part, monomials=rewritten.most)
    if rewritten.rest:
        return _refuted(part, of_rest(statement, rewritten.rest), began)
    derivation = Derivation(definitions, claimed.aig)
    derivation.conclude(start, rewritten)
    if mapped is not None:
        equal = equal_gates(claimed.aig, len(statement.aig.gates))
        part = replace(part, equal=len(equal))
        if not _follow(derivation, statement, claimed, equal):
            pairs = zip(claimed.outputs, statement.outputs, strict=True)
            if not equal_by_sat(claimed.aig, pairs):
                return _undecided(part, "not all outputs are shown to equal the design's", began)
            part, folder = replace(part, why=_NO_CERTIFICATE), None
    part = replace(part, verdict=Verdict.PROVEN, steps=0 if part.why else len(derivation.rules))
    if folder is not None:
        files += write_certificate(name, claimed, derivation, folder)
    return replace(part, seconds=time.monotonic() - began)


def _follow(
    derivation: Derivation, design: Statement, netlist: Statement, equal: Mapping[int, Equal]
) -> bool:
    """Derive the netlist's statement from the design's, if each of its outputs equals one."""
    replaced: dict[int, int] = defaultdict(int)
    for (weight, read), same in zip(netlist.after, design.outputs, strict=True):
        node = node_of(read)
        if read != same:
            if node not in equal or equal[node].read ^ (read & 1) != same:
                return False
            replaced[node] += -weight if read & 1 else weight
    derivation.follow(equal, replaced, netlist.polynomial)
    return True


def _undecided(part: Part, why: str, began: float) -> Part:
    """Draw more operands; if nothing is wrong for them, it stays open."""
    if (fault := search(part.statement, _ROUNDS, seed=1)) is not None:
        return _refuted(part, fault, began)
    return replace(part, why=why, seconds=time.monotonic() - began)


def _refuted(part: Part, fault: Counterexample, began: float) -> Part:
    assert fault.after != fault.expected
    seconds = time.monotonic() - began
    return replace(part, verdict=Verdict.REFUTED, fault=fault, seconds=seconds)
