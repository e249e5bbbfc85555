"""Outputs that are equal by SAT sweeping, where polynomials of a few gates do not show it."""

from collections.abc import Iterable

from carrysave.prove.aig import Aig
from hw.emit import tools, yosys

__all__ = ["equal_by_sat"]

_SECONDS = 300


def equal_by_sat(aig: Aig, pairs: Iterable[tuple[int, int]]) -> bool:
    """Return whether ABC proves the literals of each pair to be equal, in time."""
    made = aig.copy()
    differ = []
    for one, other in pairs:
        first, second = made.both(one, other ^ 1), made.both(one ^ 1, other)
        differ.append(made.both(first ^ 1, second ^ 1) ^ 1)
    with tools.workplace() as folder:
        (folder / "differ.aag").write_text(made.text(differ))
        # ABC reads binary files alone.
        yosys.run("read_aiger differ.aag\nwrite_aiger differ.aig", cwd=folder)
        log = yosys.run_abc("read_aiger differ.aig; iprove", cwd=folder, deadline=_SECONDS)
    return "UNSATISFIABLE" in log
