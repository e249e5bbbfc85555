"""Recurrent layers of codes: products on the co-processor, gates on the host."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from onnx import NodeProto

from carrysave.compiler.graph.host_quantisers import dynamic_codes
from carrysave.compiler.lowered.quantised import QuantisedProduct
from golden import elementary, single

__all__ = ["GRU", "KIND", "Direction", "Gru", "Recurrent"]

KIND = "DynamicQuantizeLSTM"
GRU = "DynamicQuantizeGRU"
"""What a GRU in floats becomes; no file has it."""

Product = Callable[[QuantisedProduct, np.ndarray], np.ndarray]
"""Multiplies codes by the weights of a product; returns sums."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Direction:
    """One direction of an LSTM, with gates in the order i, o, f, c; or of a GRU: z, r, h.

    Parameters
    ----------
    products : with input and recurrence weights; a GRU that resets before its last product has this
        one apart.
    scales : of their weights, one or one for each column.
    bias : 4 H, of both; of a GRU 3 H, without `inner`.
    peepholes : of i, o and f, 3 x H.
    backward : from the last step to the first.
    inner : H, what a GRU adds to its last product before it resets that.
    """

    products: tuple[QuantisedProduct, ...]
    scales: tuple[np.ndarray, ...]
    bias: np.ndarray
    peepholes: np.ndarray
    backward: bool
    inner: np.ndarray | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class Recurrent:
    """DynamicQuantizeLSTM: before each product, activations are quantised by their range.

    Parameters
    ----------
    node : in the model.
    directions : one or two.
    clip : limit of sums before activations; None: no limit.
    coupled : the forget gate is 1 - the input gate.
    single : gates are functions of :mod:`golden.single`, as a processor computes them.
    """

    node: NodeProto
    directions: tuple[Direction, ...]
    clip: float | None
    coupled: bool
    single: bool = False

    @property
    def products(self) -> list[QuantisedProduct]:
        """All of its products."""
        return [own for one in self.directions for own in one.products]

    @property
    def why(self) -> str:
        """Why outputs may differ from onnxruntime's."""
        return (
            "has numpy's tanh and exp for gates; a code of the next step may differ by them."
            " Counted in units in the last place of the largest"
        )

    def run(
        self,
        multiply: Product,
        x: np.ndarray,
        lengths: np.ndarray | None,
        first_h: np.ndarray | None,
        first_c: np.ndarray | None,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return Y, Y_h and Y_c.

        Parameters
        ----------
        multiply : makes sums.
        x : steps x batch x inputs.
        lengths : steps of each sample; None: all.
        first_h, first_c : directions x batch x H; None: zeros.

        Raises
        ------
        ValueError
            Shapes or lengths that do not fit.
        """
        size = self.directions[0].products[-1].weights
        assert size is not None
        depth = self.products[0].weights
        assert depth is not None
        if x.ndim != 3 or x.shape[2] != len(depth) or not x.size:
            raise ValueError(f"X must be steps x batch x {len(depth)}, not {x.shape}")
        steps, batch, _ = x.shape
        shape = (len(self.directions), batch, len(size))
        lengths = np.full(batch, steps) if lengths is None else lengths
        if lengths.shape != (batch,) or lengths.min() < 0 or lengths.max() > steps:
            raise ValueError(f"sequence_lens must be {batch} numbers, 0..{steps}, not {lengths}")
        states = []
        for name, given in (("initial_h", first_h), ("initial_c", first_c)):
            if given is not None and given.shape != shape:
                raise ValueError(f"{name} must be {shape}, not {given.shape}")
            states.append(np.zeros(shape, np.float32) if given is None else given.copy())
        y = np.zeros((steps, *shape), np.float32)
        for number, one in enumerate(self.directions):
            self._follow(
                multiply, one, x, lengths, states[0][number], states[1][number], y[:, number]
            )
        return y, states[0], states[1]

    def _follow(
        self, multiply: Product, own: Direction, x: np.ndarray, lengths: np.ndarray,
        h: np.ndarray, c: np.ndarray, y: np.ndarray,
    ) -> None:  # fmt: skip
        """Run one direction; h, c and y are written."""
        steps, batch, _ = x.shape
        sums = _scaled(multiply, own.products[0], x.reshape(steps * batch, -1), own.scales[0])
        sums = sums + own.bias
        sums = sums.reshape(steps, batch, -1)
        for number in range(steps):
            # Backward, each sample starts at its own last step.
            places = lengths - 1 - number if own.backward else np.full(batch, number)
            live = (places >= 0) & (places < lengths)
            given = sums[np.where(live, places, 0), np.arange(batch)]
            # Ranges are those of onnxruntime, which has zeros for samples that ended before.
            before = np.where((number <= lengths)[:, np.newaxis], h, np.float32(0))
            new_h, new_c = self._step(multiply, own, given, before, c)
            h[live], c[live] = new_h[live], new_c[live]
            y[places[live], np.flatnonzero(live)] = new_h[live]

    def _step(
        self, multiply: Product, own: Direction, given: np.ndarray, h: np.ndarray, c: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return h and c of a step, by what its input gives to the gates."""
        gates = given + _scaled(multiply, own.products[1], h, own.scales[1])
        peepholes = own.peepholes
        i, o, f, g = np.split(gates, 4, axis=1)
        i = self._sigmoid(self._clipped(i + peepholes[0] * c))
        f = (
            np.float32(1) - i
            if self.coupled
            else self._sigmoid(self._clipped(f + peepholes[2] * c))
        )
        c = f * c + i * self._tanh(self._clipped(g))
        return self._sigmoid(self._clipped(o + peepholes[1] * c)) * self._tanh(c), c

    def _sigmoid(self, values: np.ndarray) -> np.ndarray:
        """Compute it in doubles, and round it once; or as a processor does."""
        if self.single:
            return single.logistic(values)
        return elementary.sigmoid(values).astype(np.float32)

    def _tanh(self, values: np.ndarray) -> np.ndarray:
        return single.tanh(values) if self.single else elementary.tanh(values).astype(np.float32)

    def _clipped(self, values: np.ndarray) -> np.ndarray:
        return values if self.clip is None else np.clip(values, -self.clip, self.clip)


@dataclass(frozen=True, kw_only=True, eq=False)
class Gru(Recurrent):
    """A GRU, whose activations are quantised like those of an LSTM; it has no c."""

    def _step(
        self, multiply: Product, own: Direction, given: np.ndarray, h: np.ndarray, c: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return h of a step, and c as it was."""
        size = h.shape[1]
        sums = _scaled(multiply, own.products[1], h, own.scales[1])
        z, r = (
            self._sigmoid(self._clipped(given[:, part] + sums[:, part]))
            for part in (slice(size), slice(size, 2 * size))
        )
        if own.inner is None:
            inner = _scaled(multiply, own.products[2], r * h, own.scales[2])
        else:
            inner = r * (sums[:, 2 * size :] + own.inner)
        new = self._tanh(self._clipped(given[:, 2 * size :] + inner))
        return (np.float32(1) - z) * new + z * h, c


def _scaled(
    multiply: Product, product: QuantisedProduct, a: np.ndarray, scale: np.ndarray
) -> np.ndarray:
    """Quantise, multiply, and make floats of the sums."""
    codes, step, zero = dynamic_codes(a)
    sums = multiply(product.bound(zero), codes)
    scaled: np.ndarray = sums.astype(np.float32) * (step * scale)
    return scaled
