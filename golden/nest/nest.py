"""Nests: loops and steps that compute C, and nothing else."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from golden.check import Choice
from golden.nest.notation import Loop, Node, Step
from golden.nest.rules import Rules

__all__ = ["Nest"]


@dataclass(frozen=True)
class Nest:
    """Loops and steps that compute C = A x B.

    Parameters
    ----------
    body : loops and steps, in their order.
    radix : of the digits, 4, or 2: then digits are the bits of a code, without encoding.
    coded : operand that is split into digits, a or b.
    recoded : its codes arrive as digits, without encoding.

    Raises
    ------
    ValueError
        The nest does not compute C, or its parts are not in step.
    """

    body: tuple[Node, ...]
    radix: int = 4
    coded: str = "a"
    recoded: bool = False

    def __post_init__(self) -> None:
        """Check that it computes C."""
        if self.radix not in (2, 4):
            raise ValueError(f"radix must be 2 or 4, not {self.radix!r}")
        Choice("operand", "a", ("a", "b")).check("coded", self.coded)
        Rules(self.digits, encoded=self.radix == 2 or self.recoded).check(self.body)

    @property
    def digits(self) -> tuple[str, str, str]:
        """Indices that digits depend on."""
        return ("m", "k", "bw") if self.coded == "a" else ("k", "n", "bw")

    @property
    def sharing(self) -> str:
        """Index that digits do not depend on."""
        return "n" if self.coded == "a" else "m"

    def walk(self) -> Iterator[tuple[tuple[Loop, ...], Node]]:
        """Visit all loops and steps in their order, each with the loops around it."""
        return _walk((), self.body)

    def units(self, path: tuple[Loop, ...], step: Step) -> int:
        """Count the hardware units of a step: one for each parallel iteration.

        To encode and to select, one for each code of the loops inside.

        Parameters
        ----------
        path : loops around the step, the outermost first.
        step : the step.
        """
        units = math.prod(loop.size or 1 for loop in path if loop.parallel)
        if step in (Step.ENCODE, Step.SELECT):
            body = path[-1].body if path else self.body
            inside = next(node for node in body if isinstance(node, Loop))
            units *= math.prod(inside.covers(index) for index in self.digits[:2])
        return units


def _walk(
    path: tuple[Loop, ...], body: tuple[Node, ...]
) -> Iterator[tuple[tuple[Loop, ...], Node]]:
    for node in body:
        yield path, node
        if isinstance(node, Loop):
            yield from _walk((*path, node), node.body)
