"""How a co-processor makes codes of sums: chosen at its edge, the same down to the columns."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from golden.soc.spec import CoprocessorSpec
from hw.device.family import Family

__all__ = ["RequantiserBuild", "stopping_family"]


@dataclass(frozen=True, kw_only=True)
class RequantiserBuild:
    """Build parameters of the way from sums to codes; none changes a result.

    Members
    -------
    requantiser_encoding, requantiser_adder : ``encoding`` and ``adder`` of
        :class:`hw.npe.requantiser.Requantiser`; without the prefix they are the engine's.
    requantisers : columns of C that are converted and leave per cycle, a divisor of a tile's.
        Fewer are smaller, and enough where K is long.
    sum_copies : copies of sums in block RAM, see :class:`hw.soc.stores.sum_store.SumStore`; 2 take
        twice the blocks, and fewer lookup tables.
    lean : as few registers as possible: queues of one entry, and none that only make the clock
        faster. Loads and results take more cycles.
    """

    requantiser_encoding: str
    requantiser_adder: str
    requantisers: int
    sum_copies: int
    lean: bool

    @classmethod
    def of_tile(cls, spec: CoprocessorSpec, values: Mapping[str, Any]) -> Self:
        """Make one of build parameters, where 0 ``requantisers`` are as many as a tile's columns.

        Raises
        ------
        ValueError
            They do not divide a tile's columns, or end inside a byte.
        """
        requantisers = values["requantisers"]
        n, bits = spec.inside.n, spec.code_bits if spec.requantise else 8
        legal = [size for size in range(1, n + 1) if n % size == 0 and size * bits % 8 == 0]
        if requantisers and requantisers not in legal:
            numbers = ", ".join(map(str, [0, *legal]))
            raise ValueError(f"requantisers must be one of {numbers}, not {requantisers}")
        lanes = 0 if spec.vector is None else spec.vector.lanes
        if spec.taps and (requantisers or n) != lanes:
            raise ValueError(
                f"requantisers must be {lanes} with taps, one for each lane of the vector unit,"
                f" not {requantisers or n}"
            )
        return cls(**{**values, "requantisers": requantisers or n})


def stopping_family(engine: Any) -> Family | None:
    """Return the family of whose blocks an engine is built, if these can stop."""
    blocks = getattr(engine, "blocks", None)
    return None if blocks is None or not blocks.family.stops else blocks.family
