"""A table of codes, in place of operators of the host between two tensors of codes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from carrysave.compiler.graph.memory import check_size
from carrysave.compiler.graph.names import quoted

__all__ = ["TABLE", "CodeTable", "MapRule", "ScaledOperator"]

TABLE = "Table"
"""The operator that looks codes up."""


@dataclass(frozen=True, kw_only=True)
class ScaledOperator:
    """An operator on the numbers that codes stand for.

    Members
    -------
    operator : Add, Sub, Mul or Max of two; of one LeakyRelu, Neg, or "" where numbers are the same.
    operands, result : scale and zero point of each.
    alpha : of a LeakyRelu.
    """

    operator: str
    operands: tuple[tuple[float, int], ...]
    result: tuple[float, int]
    alpha: float = 0.0


@dataclass(frozen=True, kw_only=True)
class MapRule:
    """A job on maps that makes the codes of a table; all zero points and limits are of the model.

    Members
    -------
    operation : of :data:`golden.soc.maps.MAPS`.
    zeros, factors : of the operands; both are the only one of a table of one code.
    multiplier, shift, zero_point, low, high : how sums become codes.
    """

    operation: str
    zeros: tuple[int, int]
    factors: tuple[int, int]
    multiplier: int
    shift: int
    zero_point: int
    low: int
    high: int


@dataclass(frozen=True, eq=False)
class CodeTable:
    """Codes by the codes of one tensor, or of two that are broadcast.

    Members
    -------
    name : of the quantiser that made them.
    lows : the least code of each input.
    values : an entry for each code, or a row for each code of the first of two.
    axes : least axes of the result, as constants have them.
    kinds : types of the codes of each input.
    operator : what it is, if it is one operator, whose results limits may cut.
    rule : the job on maps that makes its codes, if there is one.
    """

    name: str
    lows: tuple[int, ...]
    values: np.ndarray
    axes: int
    kinds: "tuple[np.dtype[Any], ...]" = ()
    operator: ScaledOperator | None = None
    rule: MapRule | None = None

    @property
    def same(self) -> bool:
        """Whether each code becomes itself."""
        values = self.values
        codes = self.lows[0] + np.arange(len(values))
        return (
            values.ndim == 1 and self.axes == 0 and bool((values.astype(np.int64) == codes).all())
        )

    def run(self, given: Sequence[np.ndarray]) -> np.ndarray:
        """Look codes up.

        Raises
        ------
        ValueError
            Sizes that do not fit each other, or a result beyond the limit; names the node.
        """
        try:
            shape = np.broadcast_shapes(*(one.shape for one in given), (1,) * self.axes)
        except ValueError:
            shapes = ", ".join(str(one.shape) for one in given)
            raise ValueError(f"Table {quoted(self.name)}: sizes must fit, not {shapes}") from None
        check_size(lambda: f"Table {quoted(self.name)}", shape, 8 * self.values.itemsize)
        places = tuple(one.astype(np.intp) - low for one, low in zip(given, self.lows, strict=True))
        return self.values[places].reshape(shape)
