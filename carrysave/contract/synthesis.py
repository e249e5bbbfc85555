"""Synthesis of contracts: the least atoms on which timing depends, by counterexample and proof."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from carrysave.contract.atoms import Atom, Slice
from carrysave.contract.cheapest import cheapest
from carrysave.contract.drawn import Drawn
from carrysave.contract.handshakes import Handshakes
from carrysave.contract.miter import Verdict, Witness
from carrysave.contract.operands import Beats
from carrysave.contract.stages import depends_only
from carrysave.contract.template import operands_of, template_of
from hw.catalog import Design

__all__ = ["Atoms", "atoms_of"]

_AT_ONCE = 8
"""Most pairs of drawn runs that are learnt from at a time."""


@dataclass(frozen=True)
class Atoms:
    """The least atoms that no counterexample refutes.

    Members
    -------
    core : the design's handshakes.
    template : all atoms that there were to choose from.
    chosen : the atoms on which timing depends.
    verdict : whether it is proven that it depends on nothing else.
    without : for each of them two runs that differ, though all others of `chosen` are alike.
    drawn, solved : counterexamples: of runs that were drawn, and of a solver.
    """

    design: Design
    core: Handshakes
    template: tuple[Atom | Slice, ...]
    chosen: tuple[Atom | Slice, ...]
    verdict: Verdict
    without: Mapping[str, Witness]
    drawn: int
    solved: int

    @property
    def proven(self) -> bool:
        """Timing is proven to depend on nothing but `chosen`."""
        return self.verdict in {Verdict.STRUCTURE, Verdict.INDUCTION}


class _Learner:
    """Counterexamples so far, and what they tell of atoms."""

    def __init__(self, core: Handshakes, template: tuple[Atom | Slice, ...]):
        self.core, self.template = core, template
        self.pairs: list[tuple[int, Witness]] = []
        """Atoms, as bits, that differ; the runs."""

    def add(self, witness: Witness) -> int:
        """Take two runs in; return the atoms in which they differ, of beats that are offered."""
        differ = 0
        for bit, atom in enumerate(self.template):
            channel = self.core.channel(next(iter(atom.fields)))
            cycles = [
                (inputs, {**inputs, **other})
                for inputs, other in zip(witness.inputs, witness.other, strict=True)
                if channel is None or inputs[channel]
            ]
            one, two = (
                atom.of(Beats({name: [pair[run][name] for pair in cycles] for name in atom.fields}))
                for run in (0, 1)
            )
            differ |= (one != two) << bit
        if not differ:
            raise ValueError("the timing must be of beats, not of inputs where none is offered")
        self.pairs.append((differ, witness))
        return differ

    def choose(self) -> tuple[int, ...]:
        """Return the least atoms of which one differs in each counterexample."""
        return cheapest(
            [atom.values for atom in self.template], [differ for differ, _ in self.pairs]
        )


def atoms_of(
    design: Design,
    core: Handshakes,
    seconds: float,
    progress: Callable[[str], object] = lambda _: None,
) -> Atoms:
    """Find the least atoms on which the timing of a design depends, after LeaSyn.

    The atoms with the fewest values that tell all counterexamples apart are tried: first by runs
    that are drawn, then by a solver, which has another counterexample or proves that there is none.
    So any atoms with fewer values are refuted by a counterexample.

    Parameters
    ----------
    core : the design's.
    seconds : of a solver, for each proof.
    progress : called with what comes next.
    """
    template = tuple(template_of(design, core))
    fields = tuple(name for name in core.reaching if name not in core.known)
    learner = _Learner(core, template)
    chosen: tuple[int, ...] = ()
    verdict, drawn, solved = Verdict.STRUCTURE, 0, 0
    if fields:
        progress("draw runs")
        drawn = _learn(learner, Drawn(core, tuple(operands_of(design, core))))
        verdict = Verdict.DEPENDS
    while verdict is Verdict.DEPENDS:
        chosen = learner.choose()
        atoms = tuple(template[number] for number in chosen)
        progress(f"compare two runs with the same {named(atoms)}")
        answer = depends_only(core, fields, atoms, seconds)
        verdict = answer.verdict
        if answer.witness is not None:
            solved += 1
            differ = learner.add(answer.witness)
            if any(differ >> number & 1 for number in chosen):
                raise RuntimeError(f"gates of {named(atoms)} are not what they should be")
    without = {
        template[number].name: min(
            (
                witness
                for differ, witness in learner.pairs
                if differ & sum(1 << other for other in chosen) == 1 << number
            ),
            key=lambda witness: witness.cycles,
        )
        for number in chosen
    }
    atoms = tuple(template[number] for number in chosen)
    return Atoms(design, core, template, atoms, verdict, without, drawn, solved)


def named(atoms: tuple[Atom | Slice, ...]) -> str:
    """Name atoms in a sentence."""
    return " and ".join(atom.name for atom in atoms) or "timing of beats"


def _learn(learner: _Learner, drawn: Drawn) -> int:
    """Learn from drawn runs, until no two of them differ that are alike in the least atoms."""
    values = np.array([
        np.unique(np.array(atom.of(drawn.beats), dtype=object), return_inverse=True)[1]
        for atom in learner.template
    ])
    taken = 0
    while True:
        chosen = learner.choose()
        pairs = sorted(
            drawn.pairs(values[list(chosen)]),
            key=lambda pair: int((values[:, pair[0]] != values[:, pair[1]]).sum()),
        )
        if not pairs:
            return taken
        for one, two in pairs[:_AT_ONCE]:
            learner.add(drawn.witness(one, two))
            taken += 1
