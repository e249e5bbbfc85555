"""Energy of a product of two codes in the engine, for each pair of formats."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from carrysave.asic import synthesis
from carrysave.asic.liberty.cells import Library
from carrysave.compiler.target.target import Target
from carrysave.progress import Steps

__all__ = ["Energy", "measure"]


@dataclass(frozen=True, kw_only=True)
class Energy:
    """Energy of products.

    Members
    -------
    library, period_ns : cell library and clock period.
    activity : for each pair of formats, the operands of the measurement.
    pj_per_mac : for each pair of formats, named as
        :func:`carrysave.compiler.lowered.split_product.shares_of`; ""
        for an integer engine.
    """

    library: str
    period_ns: float
    activity: dict[str, str]
    pj_per_mac: dict[str, float]

    def uj(self, slots: float, shares: Mapping[str, float]) -> float:
        """Return the microjoules of products, of which pairs of formats have shares."""
        return slots * sum(share * self.pj_per_mac[pair] for pair, share in shares.items()) / 1e6


def measure(
    target: Target, pairs: Iterable[str], library: str | Library, steps: Steps
) -> Energy | None:
    """Synthesise the engine, and measure its power for pairs of formats; None if it has no name.

    Parameters
    ----------
    target : the co-processor.
    pairs : of formats, as :class:`Energy` has them.
    library : of cells.
    steps : progress.
    """
    engine = target.design.engine
    if engine is None:
        return None
    results = {}
    for pair in dict.fromkeys(pairs):
        names = pair or (target.integers if target.formats else "")
        steps.step(f"synthesise {engine.module}, for its energy{names and f' of {names}'}")
        activity = f"normal:{names.replace(' x ', ',')}" if names else None
        results[pair] = synthesis.synthesise_design(
            engine, library, activity=activity, progress=steps.note
        )
    first = next(iter(results.values()))
    return Energy(
        library=first["target"],
        period_ns=first["period_ns"],
        activity={pair: result["activity"] for pair, result in results.items()},
        pj_per_mac={pair: result["pj_per_mac"] for pair, result in results.items()},
    )
