"""The same training in floats: what formats are compared with."""

from collections.abc import Callable, Sequence

import numpy as np

from carrysave.training.compile import Rates
from carrysave.training.learner import cross_entropy
from carrysave.training.recipes import BF16
from golden.elementary import exp
from golden.portable_product import product

__all__ = ["REFERENCES", "FloatLearner"]


REFERENCES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "float32": lambda values: values,
    "bf16": lambda values: BF16.to_float(BF16.encode(values)),
}
"""What operands of products are rounded to, by name."""


class FloatLearner:
    """A network's weights in float32, and how they learn; operands may be rounded.

    Parameters
    ----------
    weights : of each layer, K x N; biases are zeros.
    rates : of updates.
    operand : rounds operands of products, which are summed in doubles, and rounded to float32.
    """

    def __init__(
        self,
        weights: Sequence[np.ndarray],
        *,
        rates: Rates,
        operand: Callable[[np.ndarray], np.ndarray],
    ) -> None:
        self.weights = [one.astype(np.float32) for one in weights]
        self.biases = [np.zeros(one.shape[1], np.float32) for one in weights]
        self._velocities = [np.zeros_like(one) for one in (*self.weights, *self.biases)]
        self._rates, self._operand, self._steps = rates, operand, 0

    def step(self, x: np.ndarray, labels: np.ndarray) -> float:
        """Learn from a batch; return its loss, before."""
        xs, y = self._forward(x)
        shares = exp(y.astype(np.float64) - y.max(axis=1, keepdims=True))
        shares /= shares.sum(axis=1, keepdims=True)
        wanted = np.arange(y.shape[1]) == labels[:, None]
        of_y = ((shares - wanted) / len(x)).astype(np.float32)
        of_weights, of_biases = list[np.ndarray](), list[np.ndarray]()
        for one, weights in zip(reversed(xs), reversed(self.weights), strict=True):
            of_weights.insert(0, self._product(one.T, of_y))
            of_biases.insert(0, of_y.sum(axis=0))
            of_y = self._product(of_y, weights.T) * (one > 0)
        every = zip(
            (*self.weights, *self.biases), self._velocities, (*of_weights, *of_biases), strict=True
        )
        rate = np.float32(self._rates.at(self._steps))
        self._steps += 1
        for numbers, velocity, gradient in every:
            velocity *= np.float32(self._rates.momentum)
            velocity += gradient
            numbers -= rate * velocity
        return cross_entropy(y, labels)

    def logits(self, x: np.ndarray) -> np.ndarray:
        """Return the outputs for any number of inputs."""
        return self._forward(x)[1]

    def _forward(self, x: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
        """Return what each layer takes, and the logits."""
        xs, y = [x.astype(np.float32)], np.zeros(0, np.float32)
        for weights, bias in zip(self.weights, self.biases, strict=True):
            y = self._product(xs[-1], weights) + bias
            xs.append(np.maximum(y, np.float32(0)))
        return xs[:-1], y

    def _product(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        operands = (self._operand(one).astype(np.float64) for one in (a, b))
        return product(*operands).astype(np.float32)
