"""What the timing of a design depends on, as a contract: text and data."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from carrysave.contract.handshakes import Handshakes
from carrysave.contract.miter import Answer, Verdict, compare
from carrysave.contract.pairs import Pairs
from hw.catalog import Design

__all__ = ["Contract", "contract_of", "data", "describe"]


@dataclass(frozen=True)
class Contract:
    """Answers for every input that is no handshake.

    If the timing depends on none of some inputs alone, it does not depend on all of them together:
    they can be changed one after the other.
    """

    design: Design
    core: Handshakes
    answers: Mapping[str, Answer]

    def named(self, *verdicts: Verdict) -> list[str]:
        """Name the inputs with these answers."""
        return [name for name, answer in self.answers.items() if answer.verdict in verdicts]


def contract_of(
    design: Design,
    core: Handshakes,
    seconds: float,
    progress: Callable[[str], object] = lambda _: None,
) -> Contract:
    """Find out what the timing of a design depends on.

    Parameters
    ----------
    core : the design's.
    seconds : of each attempt, see :func:`carrysave.contract.miter.compare`.
    progress : called with what comes next.
    """
    answers = {}
    with Pairs(design, core) as pairs:
        for name in core.fields:
            if name in core.reaching:
                progress(f"compare two runs that differ in {name}")
            answers[name] = compare(core, name, seconds, pairs.differing)
    return Contract(design, core, answers)


def data(contract: Contract) -> dict[str, Any]:
    """Return a contract as JSON has it."""
    core = contract.core
    return {
        "design": contract.design.name,
        "module": core.module,
        "parameters": dict(contract.design.parameters),
        "outputs": list(core.outputs),
        "controls": [core.reset, *core.controls],
        "depends_on": contract.named(Verdict.DEPENDS),
        "independent_of": contract.named(Verdict.STRUCTURE, Verdict.INDUCTION),
        "unknown": contract.named(Verdict.OPEN),
        "inputs": {name: _answer(core, name, answer) for name, answer in contract.answers.items()},
    }


def _answer(core: Handshakes, name: str, answer: Answer) -> dict[str, Any]:
    witness = answer.witness
    return {
        "width": core.fields[name],
        "verdict": answer.verdict.value,
        "witness": witness
        and {
            "cycles": witness.cycles,
            "inputs": [dict(values) for values in witness.inputs],
            "other": [values[name] for values in witness.other],
        },
    }


def describe(contract: Contract) -> str:
    """Write a contract as lines of text."""
    core = contract.core
    controls = (core.reset, *core.controls)
    wide = max(map(len, (*controls, *contract.answers)))
    lines = [f"{core.module}: when {', '.join(core.outputs)} are high depends on"]
    lines += [f"  {name:{wide}}  taken as known" for name in controls]
    for name, answer in contract.answers.items():
        lines.append(f"  {name:{wide}}  {answer.verdict.value}{_runs(name, answer)}")
    return "\n".join(lines)


def _runs(name: str, answer: Answer) -> str:
    """Describe a witness: the cycles in which both runs differ."""
    witness = answer.witness
    if witness is None:
        return ""
    differing = [
        f"0x{values[name]:x} or 0x{other[name]:x} in cycle {cycle}"
        for cycle, (values, other) in enumerate(zip(witness.inputs, witness.other, strict=True))
        if values[name] != other[name]
    ]
    more = f" and {len(differing) - 1} more" if len(differing) > 1 else ""
    return f": {differing[0]}{more} shows in cycle {witness.cycles - 1}"
