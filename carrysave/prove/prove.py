"""Proofs of multiply-accumulates of the catalogue, by algebra."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from carrysave.prove.aig import Step, node_of
from carrysave.prove.beside import beside
from carrysave.prove.core import KNOWN, Core, NotUnderstoodError, core_of
from carrysave.prove.definitions import Definitions
from carrysave.prove.polynomial import TooLargeError, rewrite
from carrysave.prove.proving import LIMIT, Part, Verdict, prove_statement
from carrysave.prove.replay import Shown, shown_by
from carrysave.prove.statement import Statement
from golden.pe.mac import MacSpec

__all__ = ["Proof", "prove"]


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
    netlist: str | None = None,
    folder: Path | None = None,
    progress: Callable[[str], object] = lambda _: None,
) -> Proof:
    """Prove that the core of an element adds the products of its operands to its sum.

    Parameters
    ----------
    circuit : the element between two streams, an ASCII AIGER file with symbols.
    spec : widths and signs.
    netlist : what synthesis made of it, such a file, too: the claims are then of this one.
    folder : where certificates are written; None: nowhere.
    progress : called with what comes next.

    Raises
    ------
    NotUnderstoodError
        The circuit has another structure, and no stream was found in which a sum is wrong.
    """
    progress("rewrite the outputs to the accumulator's registers")
    try:
        step = Step.parse(circuit, KNOWN)
        core = core_of(step, spec)
        mapped = None
        if netlist is not None:
            mapped = beside(step, core, Step.parse(netlist, KNOWN), spec)
        value, weights = _value(core, mapped.outputs if mapped else ())
    except NotUnderstoodError:
        progress("look for a stream in which a sum is wrong")
        shown = shown_by(netlist or circuit, spec, None)
        if shown is None:
            raise
        return Proof(None, (), shown)
    parts: list[Part] = []
    files: list[Path] = []
    if value is not None:
        parts.append(prove_statement("value", value, folder, files, mapped))
    if not parts or parts[-1].verdict is Verdict.PROVEN:
        progress("rewrite a cycle of the accumulator to its operands")
        parts.append(prove_statement("step", _step(core, spec, weights), folder, files, mapped))
    shown = None
    if parts[-1].verdict is not Verdict.PROVEN:
        progress("look for a stream in which a sum is wrong")
        shown = shown_by(netlist or circuit, spec, parts[-1].fault)
    return Proof(core, tuple(parts), shown, tuple(files))


def _value(core: Core, netlist: Sequence[int]) -> tuple[Statement | None, dict[int, int]]:
    """Return what the outputs are worth, and the weight of each register, by its node.

    There is nothing to prove where registers are outputs themselves, of the netlist, too.
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
            limit=LIMIT,
        ).rest
    except TooLargeError:
        rest = {(0, 0): 1}
    if any(len(monomial) != 1 or monomial[0] not in core.next for monomial in rest):
        raise NotUnderstoodError("its outputs are no weighted sum of its accumulator's bits")
    weights = {monomial[0]: weight for monomial, weight in rest.items()}
    before = [(weight, 2 * node) for node, weight in weights.items()]
    registers = all(node_of(read) in core.next or read < 2 for read in statement.outputs)
    if registers and list(netlist or statement.outputs) == statement.outputs:
        return None, weights
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
