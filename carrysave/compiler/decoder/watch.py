"""What a decoder multiplies and normalises, job by job, as it answers."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from carrysave.compiler.decoder.units import GOLDEN, VECTOR, Units, aligned, gates, scored
from carrysave.compiler.front.gguf import FEED, FORMS, Model
from golden.lut.grouped import FastWeights

__all__ = ["KINDS", "Job", "ProductJob", "RowsJob", "watched"]

KINDS = (
    *FORMS["recurrent"], *FORMS["attention"], *FEED, "head", "scores", "values", "rms_norm",
    "softmax", "silu",
)  # fmt: skip
"""Products by weights, by keys, and by values; operations of the vector unit; of all forms."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ProductJob:
    """A product of integers, M x K by K x N: of a group of weights, or of a head of attention."""

    kind: str
    a: np.ndarray
    b: np.ndarray


@dataclass(frozen=True, kw_only=True, eq=False)
class RowsJob:
    """An operation on rows of codes of the vector unit."""

    kind: str
    a: np.ndarray


Job = ProductJob | RowsJob
Tell = Callable[[Job], None]


class _Weights:
    """Weights that tell of their products."""

    def __init__(self, kind: str, weights: FastWeights, tell: Tell) -> None:
        self._kind, self._weights, self._tell = kind, weights, tell
        self.group = weights.group

    def product(self, a: np.ndarray, powers: np.ndarray) -> np.ndarray:
        """Multiply; see :meth:`FastWeights.product`."""
        size = self._weights.integers.shape[1]
        for group, own in enumerate(self._weights.integers):
            rows = a[:, group * size : (group + 1) * size]
            self._tell(ProductJob(kind=self._kind, a=rows, b=own))
        return self._weights.product(a, powers)


def watched(model: Model, tell: Tell) -> tuple[Model, Units]:
    """Return a model and units in golden's arithmetic that tell of each job.

    Parameters
    ----------
    model : weights.
    tell : takes jobs in order; arrays of attention are copies, those of weights are not.
    """

    def weights(kind: str, own: FastWeights) -> FastWeights:
        return _Weights(kind, own, tell)  # type: ignore[return-value]

    def normed(x: np.ndarray, gain: np.ndarray, epsilon: float = 0.0) -> np.ndarray:
        tell(RowsJob(kind="rms_norm", a=aligned(x, VECTOR.width, x.shape[-1])[0]))
        return GOLDEN.normed(x, gain, epsilon)

    def probabilities(scores: np.ndarray) -> np.ndarray:
        rows = scored(scores)
        tell(RowsJob(kind="softmax", a=rows.reshape(-1, rows.shape[-1])))
        return GOLDEN.probabilities(scores)

    def gated(x: np.ndarray, values: np.ndarray) -> np.ndarray:
        rows = gates(x).reshape(-1, x.shape[-1])
        for start in range(0, rows.shape[1], VECTOR.length):
            tell(RowsJob(kind="silu", a=rows[:, start : start + VECTOR.length]))
        return GOLDEN.gated(x, values)

    def multiplied(kind: str, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        for left, right in zip(a, b, strict=True):
            tell(ProductJob(kind=kind, a=left.copy(), b=right.copy()))
        return GOLDEN.multiplied(kind, a, b)

    layers = [
        replace(one, matrices={kind: weights(kind, own) for kind, own in one.matrices.items()})
        for one in model.layers
    ]
    units = replace(
        GOLDEN, normed=normed, probabilities=probabilities, gated=gated, multiplied=multiplied,
        rows=1,
    )  # fmt: skip
    return replace(model, layers=layers, head=weights("head", model.head)), units
