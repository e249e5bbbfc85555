"""Float operators of a model by the few operators that a processor has.

Each rule is written once, for a machine: :class:`Arrays` computes at once, and the compiler's
places steps in a program. So both make the same bits.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from onnx import NodeProto

from carrysave.compiler.graph.im2col import Windows
from carrysave.compiler.graph.kernels import Unsupported, attributes
from golden.single import PAIRS, SINGLES

__all__ = ["ARITHMETIC", "ArithmeticNode", "Arrays", "Numbers"]

ARITHMETIC = "Arithmetic"
"""The operator of nodes that a processor does."""
_REDUCED: dict[str, Callable[..., np.ndarray]] = {"greatest": np.max, "least": np.min}

Move = Callable[[np.ndarray], np.ndarray]


class Arrays:
    """A machine on arrays; those of other tensors have the same methods."""

    def shape(self, x: np.ndarray) -> tuple[int, ...]:
        """Return the sizes of an array."""
        return x.shape

    def constant(self, values: np.ndarray) -> np.ndarray:
        """Return floats."""
        return np.asarray(values, np.float32)

    def one(self, what: str, x: np.ndarray) -> np.ndarray:
        """Do an operator on each number."""
        return np.asarray(SINGLES[what](x), np.float32)

    def two(self, what: str, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Do an operator on numbers of two arrays."""
        return np.asarray(PAIRS[what](x, y), np.float32)

    def reduced(self, what: str, x: np.ndarray, axes: Sequence[int]) -> np.ndarray:
        """Reduce axes, the last one first: sums are of doubles, from the first number on."""
        result = x
        for axis in sorted(axes, reverse=True):
            if what == "sum":
                sums = np.add.accumulate(result.astype(np.float64), axis=axis)
                result = sums.take([-1], axis=axis)
            else:
                result = _REDUCED[what](result, axis=axis, keepdims=True)
            result = (result + 0.0).astype(np.float32)  # no 0 has a sign
        return result

    def moved(self, x: np.ndarray, move: Move) -> np.ndarray:
        """Move numbers."""
        return move(x)

    def cut(self, x: np.ndarray, windows: Windows, fill: float) -> np.ndarray:
        """Cut windows."""
        return windows.cut(x, fill)


@dataclass(frozen=True)
class Numbers:
    """A machine, with operators between tensors and numbers."""

    machine: Any

    def add(self, x: Any, y: Any) -> Any:
        """Return x + y."""
        return self._two("add", x, y)

    def subtract(self, x: Any, y: Any) -> Any:
        """Return x - y."""
        return self._two("subtract", x, y)

    def multiply(self, x: Any, y: Any) -> Any:
        """Return x y."""
        return self._two("multiply", x, y)

    def divide(self, x: Any, y: Any) -> Any:
        """Return x / y."""
        return self._two("quotient", x, y)

    def greatest(self, x: Any, y: Any) -> Any:
        """Return the greater one."""
        return self._two("maximum", x, y)

    def least(self, x: Any, y: Any) -> Any:
        """Return the lesser one."""
        return self._two("minimum", x, y)

    def one(self, what: str, x: Any) -> Any:
        """Do an operator on each number."""
        return self.machine.one(what, x)

    def mean(self, x: Any, axes: Sequence[int]) -> Any:
        """Return means along axes."""
        count = int(np.prod([self.machine.shape(x)[axis] for axis in axes]))
        return self.divide(self.machine.reduced("sum", x, axes), float(count))

    def _two(self, what: str, x: Any, y: Any) -> Any:
        x, y = (
            self.machine.constant(np.float32(one)) if isinstance(one, float) else one
            for one in (x, y)
        )
        return self.machine.two(what, x, y)


@dataclass(frozen=True, eq=False)
class ArithmeticNode:
    """A node of the model that a processor does.

    Members
    -------
    node : of the model.
    version : of its set of operators.
    rule : makes its result of the node's inputs, tensors of a machine, and of those that are known.
    """

    node: NodeProto
    version: int
    rule: Callable[..., Any]

    def on(self, machine: Any, given: Sequence[Any], known: Sequence[np.ndarray | None]) -> Any:
        """Do it on a machine.

        Parameters
        ----------
        given : tensors; None: it is left out.
        known : arrays; None: it is not known before the network runs.

        Raises
        ------
        Unsupported
            It cannot be done on tensors of these sizes.
        """
        values = {**attributes(self.node), "version": self.version}
        try:
            return self.rule(Numbers(machine), given, known, values)
        except (IndexError, TypeError) as error:
            raise Unsupported(f"inputs do not fit: {error}") from None

    def run(self, given: Sequence[np.ndarray | None]) -> np.ndarray:
        """Compute it.

        Raises
        ------
        ValueError
            It cannot be computed of arrays of these sizes.
        """
        with np.errstate(all="ignore"):
            result = self.on(Arrays(), given, given)
        return np.asarray(result, np.float32)
