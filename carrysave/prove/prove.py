"""Proofs of multiply-accumulates of the catalogue, by algebra."""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Any

from carrysave.prove.aig import Step
from carrysave.prove.core import KNOWN, Core, NotUnderstoodError, core_of
from carrysave.prove.counterexample import Counterexample, of_rest, search
from carrysave.prove.definitions import Definitions
from carrysave.prove.derivation import Derivation, axioms, text
from carrysave.prove.polynomial import TooLargeError, rewrite
from carrysave.prove.replay import Shown, shown_by
from carrysave.prove.statement import Statement
from golden.pe.mac import MacSpec

__all__ = ["Part", "Proof", "Verdict", "prove", "prove_statement"]

_LIMIT = 1 << 18
"""Monomials at which a proof is given up; 64 x 64 bits take 7,000, with Booth's digits 50,000."""
_ROUNDS = 64
"""Rounds of random operands before it is given up."""


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
    why : why it is open, else empty.
    """

    name: str
    statement: Statement
    verdict: Verdict
    adders: Mapping[str, int]
    monomials: int = 0
    steps: int = 0
    seconds: float = 0.0
    why: str = ""
    fault: Counterexample | None = None


@dataclass(frozen=True)
class Proof:
    """What was proven of a circuit.

    Members
    -------
    core : with the registers that were cut and looked through; None of a circuit of another
        structure, with a wrong sum.
    parts : statements, in order; the first that is not proven is the last.
    shown : a stream with a wrong sum, if it is not proven and one was found.
    files : certificates written.
    """

    core: Core | None
    parts: tuple[Part, ...]
    shown: Shown | None
    files: tuple[Path, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """That of the last part."""
        return self.parts[-1].verdict if self.parts else Verdict.REFUTED


def prove(
    circuit: str,
    spec: MacSpec,
    *,
    folder: Path | None = None,
    progress: Callable[[str], object] = lambda _: None,
) -> Proof:
    """Prove that the core of an element adds the products of its operands to its sum.

    Parameters
    ----------
    circuit : the element between two streams, an ASCII AIGER file with symbols.
    spec : widths and signs.
    folder : where certificates are written; None: nowhere.
    progress : called with what comes next.

    Raises
    ------
    NotUnderstoodError
        The circuit has another structure, and no stream was found in which a sum is wrong.
    """
    progress("rewrite the outputs to the accumulator's registers")
    try:
        core = core_of(Step.parse(circuit, KNOWN), spec)
        value, weights = _value(core)
    except NotUnderstoodError:
        progress("look for a stream in which a sum is wrong")
        shown = shown_by(circuit, spec, None)
        if shown is None:
            raise
        return Proof(None, (), shown)
    parts: list[Part] = []
    files: list[Path] = []
    if value is not None:
        parts.append(prove_statement("value", value, folder, files))
    if not parts or parts[-1].verdict is Verdict.PROVEN:
        progress("rewrite a cycle of the accumulator to its operands")
        parts.append(prove_statement("step", _step(core, spec, weights), folder, files))
    shown = None
    if parts[-1].verdict is not Verdict.PROVEN:
        progress("look for a stream in which a sum is wrong")
        shown = shown_by(circuit, spec, parts[-1].fault)
    return Proof(core, tuple(parts), shown, tuple(files))


def _value(core: Core) -> tuple[Statement | None, dict[int, int]]:
    """Return what the outputs are worth, and the weight of each register, by its node.

    There is nothing to prove where registers are outputs themselves.
    """
    after = [(1 << place, read) for place, read in core.outputs]
    statement = Statement(aig=core.aig, width=core.width, after=after, before=[])
    definitions = Definitions(core.aig, statement.outputs)
    try:
        rest = rewrite(
            statement.polynomial,
            definitions.value,
            definitions.order,
            width=core.width,
            limit=_LIMIT,
        ).rest
    except TooLargeError:
        rest = {(0, 0): 1}
    if any(len(monomial) != 1 or monomial[0] not in core.next for monomial in rest):
        raise NotUnderstoodError("its outputs are no weighted sum of its accumulator's bits")
    weights = {monomial[0]: weight for monomial, weight in rest.items()}
    if all(read >> 1 in core.next or read < 2 for read in statement.outputs):
        return None, weights
    before = [(weight, 2 * node) for node, weight in weights.items()]
    return replace(statement, before=before), weights


def _step(core: Core, spec: MacSpec, weights: Mapping[int, int]) -> Statement:
    """Return what one cycle makes of the accumulator."""

    def split(bits: Any, width: int) -> list[list[int]]:
        return [list(bits[pair * width :][:width]) for pair in range(spec.k)]

    return Statement(
        aig=core.aig,
        width=core.width,
        after=[(weight, core.next[node]) for node, weight in weights.items()],
        before=[(weight, 2 * node) for node, weight in weights.items()],
        a=split(core.a, spec.a_width),
        b=split(core.b, spec.b_width),
        a_signed=spec.a_signed,
        b_signed=spec.b_signed,
        clear=core.clear,
        taken=core.taken,
    )


def prove_statement(
    name: str, statement: Statement, folder: Path | None, files: list[Path]
) -> Part:
    """Prove a statement, or find a counterexample; write the certificate of a proof.

    Parameters
    ----------
    files : to which the certificate's are added.
    """
    began = time.monotonic()
    part = Part(name, statement, Verdict.OPEN, {})
    if (fault := search(statement)) is not None:
        return _refuted(part, fault, began)
    definitions = Definitions(statement.aig, statement.outputs)
    part = replace(part, adders=definitions.adders)
    start = statement.polynomial
    try:
        rewritten = rewrite(
            start, definitions.value, definitions.order, width=statement.width, limit=_LIMIT
        )
    except TooLargeError as error:
        if (fault := search(statement, _ROUNDS, seed=1)) is not None:
            return _refuted(part, fault, began)
        return replace(part, why=str(error), seconds=time.monotonic() - began)
    part = replace(part, monomials=rewritten.most)
    if rewritten.rest:
        return _refuted(part, of_rest(statement, rewritten.rest), began)
    derivation = Derivation(definitions)
    derivation.conclude(start, rewritten)
    part = replace(part, verdict=Verdict.PROVEN, steps=len(derivation.rules))
    if folder is not None:
        files += _write(name, statement, derivation, folder)
    return replace(part, seconds=time.monotonic() - began)


def _refuted(part: Part, fault: Counterexample, began: float) -> Part:
    assert fault.after != fault.expected
    seconds = time.monotonic() - began
    return replace(part, verdict=Verdict.REFUTED, fault=fault, seconds=seconds)


def _write(name: str, statement: Statement, derivation: Derivation, folder: Path) -> list[Path]:
    """Write a certificate: what is claimed, the circuit, and the proof."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = {
        "json": json.dumps(statement.facts(), indent=1) + "\n",
        "aag": statement.circuit(),
        "polys": "".join(f"{line}\n" for line in axioms(derivation, statement.width)),
        "pac": "".join(f"{line}\n" for line in text(derivation)),
    }
    files = []
    for suffix, content in texts.items():
        files.append(folder / f"{name}.{suffix}")
        files[-1].write_text(content)
    return files
