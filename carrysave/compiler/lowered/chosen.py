"""A product of rows by matrices of weights, each of which a place chooses among several."""

from dataclasses import dataclass

import numpy as np

from carrysave.compiler.lowered.operands import Compiled
from carrysave.compiler.lowered.quantised import QuantisedProduct
from carrysave.compiler.target.target import Target

__all__ = ["ChosenProduct"]


@dataclass(frozen=True, kw_only=True, eq=False)
class ChosenProduct(QuantisedProduct):
    """Sums of each matrix A, of rows x K, and of the weights that its place chooses.

    Parameters
    ----------
    b : of :class:`QuantisedProduct`: the tensor of places, one for each A.
    choices : int8, count x K x N.
    """

    choices: np.ndarray

    def compile(
        self, target: Target, a: np.ndarray, b: np.ndarray | None, in_hardware: bool
    ) -> Compiled:
        """Make matrices of codes; see :meth:`.Operands.compile`."""
        return super().compile(target, a, None if b is None else self.choices[b], in_hardware)
