"""Proofs that timing depends on some atoms alone, of copies that become simpler step by step."""

from collections.abc import Sequence
from pathlib import Path

from carrysave.contract.atoms import Atom, Slice
from carrysave.contract.copies import Second
from carrysave.contract.handshakes import Handshakes
from carrysave.contract.miter import (
    AIGER,
    Answer,
    Verdict,
    read_witness,
    shortest,
    write_miter,
)
from hw.emit import tools, yosys

__all__ = ["depends_only"]

_QUICK = 3.0
"""Seconds in which the shortest counterexample is looked for."""


def depends_only(
    core: Handshakes, fields: tuple[str, ...], atoms: Sequence[Atom | Slice], seconds: float
) -> Answer:
    """Decide whether handshakes depend on atoms alone.

    Two runs that are free are compared where atoms are several. Of one atom, or none, any run is
    proven to be alike one of examples of the atom's values, in small steps, of which each replaces
    one code or one group by an example.

    Parameters
    ----------
    fields : all inputs that may differ otherwise.
    seconds : for each proof.
    """
    atoms = tuple(atoms)
    second = Second(fields, atoms)
    staged = not atoms or (len(atoms) == 1 and atoms[0].states is not None)
    if staged:
        second = Second(fields, atoms, (0, second.last))
    with tools.workplace() as folder:
        write_miter(core, second, folder)
        witness, _ = shortest(core, second, _QUICK, folder)
        if witness is not None:
            return Answer(Verdict.DEPENDS, witness)
        if staged and all(
            _alike(
                core, Second(fields, atoms, (stage, stage + 1), senders_hold=False), seconds, folder
            )
            for stage in range(second.last)
        ):
            return Answer(Verdict.INDUCTION)
        write_miter(core, second, folder)
        proven = yosys.never(AIGER, seconds, cwd=folder)
        if proven is False:
            return Answer(Verdict.DEPENDS, read_witness(core, second, folder))
    return Answer(Verdict.INDUCTION if proven else Verdict.OPEN)


def _alike(core: Handshakes, second: Second, seconds: float, folder: Path) -> bool:
    """Return whether it is proven that two runs never differ.

    Whoever takes what is offered only once need not know that senders keep it: without that rule a
    circuit has fewer registers. A counterexample is none, then, of senders that do.
    """
    write_miter(core, second, folder)
    return yosys.never(AIGER, seconds, cwd=folder) is True
