"""The way of attention of a network: jobs of its heads, and which way takes fewer cycles."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from carrysave.compiler.graph.names import quoted
from carrysave.compiler.lowered.heads import HOST, ONE_PASS, ROWS, Heads, HeadSizes
from carrysave.compiler.program.head_jobs import add_head, rooms_of
from carrysave.compiler.program.heads import fraction_of
from carrysave.compiler.program.image import Image
from carrysave.compiler.program.ring_cost import in_rings
from carrysave.compiler.program.steps import Start
from carrysave.compiler.target.target import Target

__all__ = ["AUTO", "WAYS", "Chosen", "HeadWays", "sentences"]

AUTO = "auto"
"""One pass where the co-processor has it, or whole rows where these take fewer cycles."""
WAYS = (AUTO, ONE_PASS, ROWS, HOST)


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """How attention of a node is computed.

    Members
    -------
    node : its name.
    way : one of those of :mod:`carrysave.compiler.lowered.heads`.
    cycles : of a head by the cost model, by way, of those that the co-processor has.
    reasons : why it has not the others.
    """

    node: str
    way: str
    cycles: dict[str, int]
    reasons: dict[str, str]


@dataclass
class HeadWays:
    """Chooses the way of attention, node by node.

    Parameters
    ----------
    target : the co-processor.
    asked : one of :data:`WAYS`.

    Members
    -------
    chosen : by node.
    """

    target: Target
    asked: str = AUTO
    chosen: dict[str, Chosen] = field(default_factory=dict)

    def __call__(self, heads: Heads, sizes: HeadSizes) -> Heads:
        """Return heads with their way.

        Raises
        ------
        ValueError
            It is asked for, and cannot be; says why.
        """
        known = self.chosen.get(heads.name)
        if known is None:
            known = self.chosen[heads.name] = self._choice(heads, sizes)
        if self.asked not in (AUTO, known.way):
            raise ValueError(f"attention cannot be {self.asked}: {known.reasons[self.asked]}")
        return self._of_way(heads, known.way, sizes)

    def facts(self) -> list[dict[str, Any]]:
        """Return ``node way cycles reasons`` of each node whose queries, keys, values are codes."""
        return [asdict(one) for one in self.chosen.values()]

    def _choice(self, heads: Heads, sizes: HeadSizes) -> Chosen:
        cycles: dict[str, int] = {}
        reasons: dict[str, str] = {}
        # Whole rows are for comparison: floats of the host are nearer.
        none = self.asked == HOST or (self.asked == AUTO and not self.target.spec.shares)
        for way in () if none else (ONE_PASS, ROWS):
            try:
                made = self._of_way(heads, way, sizes)
                cycles[way] = head_cycles(made, sizes, self.target)
            except ValueError as error:
                reasons[way] = str(error)
        way = HOST if self.asked not in cycles else self.asked
        if self.asked == AUTO and ONE_PASS in cycles:
            way = min(cycles, key=cycles.__getitem__)
        return Chosen(node=heads.name, way=way, cycles=cycles, reasons=reasons)

    def _of_way(self, heads: Heads, way: str, sizes: HeadSizes) -> Heads:
        unit = self.target.spec.vector
        fraction = 0 if unit is None else fraction_of(unit, way, sizes.keys)
        return replace(heads, way=way, fraction=fraction)


def sentences(facts: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Say how attention is computed, where there is a choice; of :meth:`HeadWays.facts`."""
    for one in facts:
        parts = [f"{way} takes {count:,} cycles a head" for way, count in one["cycles"].items()]
        parts += [f"not {way}: {reason}" for way, reason in one["reasons"].items()]
        if parts:
            yield f"attention {quoted(one['node'])}: {one['way']}; {'; '.join(parts)}"


def head_cycles(heads: Heads, sizes: HeadSizes, target: Target) -> int:
    """Return the cycles of a head's jobs by the cost model.

    Raises
    ------
    ValueError
        The co-processor cannot have them; says why.
    """
    image = Image(target)
    add_head(image, heads, rooms_of(image, heads, sizes), heads.mask_of(0, 0))
    steps = in_rings(image.steps, target)
    return sum(step.cycles for step in steps if isinstance(step, Start))
