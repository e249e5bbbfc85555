"""Recurrent layers of codes: products on the co-processor, gates on the host."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from carrysave.compiler.graph.arithmetic import Arrays, Numbers
from carrysave.compiler.graph.host_quantisers import dynamic_codes
from carrysave.compiler.lowered.layer import Layer, Product
from carrysave.compiler.lowered.quantised import QuantisedProduct

__all__ = ["GRU", "KIND", "Direction", "Gru", "Recurrent"]

KIND = "DynamicQuantizeLSTM"
GRU = "DynamicQuantizeGRU"
"""What a GRU in floats becomes; no file has it."""

Multiplied = Callable[[int, Any], Any]
"""Multiplies floats, quantised, by the weights of a product with a number; returns floats."""
_ARRAYS = Numbers(Arrays())


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
class Recurrent(Layer):
    """DynamicQuantizeLSTM: before each product, activations are quantised by their range.

    Parameters
    ----------
    directions : one or two.
    clip : limit of sums before activations; None: no limit.
    coupled : the forget gate is 1 - the input gate.
    more : those of :class:`.layer.Layer`.
    """

    directions: tuple[Direction, ...]
    clip: float | None
    coupled: bool

    @property
    def products(self) -> list[QuantisedProduct]:
        """All of its products."""
        return [product for one in self.directions for product in one.products]

    @property
    def inputs(self) -> Sequence[str]:
        """X, sequence_lens, initial_h and initial_c; others are constants."""
        given = [*self.node.input, *[""] * 7]
        return [given[at] for at in (0, 4, 5, 6)]

    @property
    def why(self) -> str:
        """Why outputs may differ from onnxruntime's."""
        return (
            "has its own tanh and exp for gates; a code of the next step may differ by them."
            " Counted in units in the last place of the largest"
        )

    def run(
        self,
        multiply: Product,
        x: np.ndarray,
        lengths: np.ndarray | None = None,
        first_h: np.ndarray | None = None,
        first_c: np.ndarray | None = None,
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
        self, multiply: Product, direction: Direction, x: np.ndarray, lengths: np.ndarray,
        h: np.ndarray, c: np.ndarray, y: np.ndarray,
    ) -> None:  # fmt: skip
        """Run one direction; h, c and y are written."""

        def multiplied(at: int, x: np.ndarray) -> np.ndarray:
            codes, step, zero = dynamic_codes(x)
            sums = multiply(direction.products[at].bound(zero), codes)
            return np.asarray(sums.astype(np.float32) * (step * direction.scales[at]))

        steps, batch, _ = x.shape
        sums = multiplied(0, x.reshape(steps * batch, -1)) + direction.bias
        sums = sums.reshape(steps, batch, -1)
        for number in range(steps):
            # Backward, each sample starts at its own last step.
            places = lengths - 1 - number if direction.backward else np.full(batch, number)
            live = (places >= 0) & (places < lengths)
            given = sums[np.where(live, places, 0), np.arange(batch)]
            # Ranges are those of onnxruntime, which has zeros for samples that ended before.
            before = np.where((number <= lengths)[:, np.newaxis], h, np.float32(0))
            new_h, new_c = self.cell(_ARRAYS, direction, multiplied, given, before, c)
            h[live], c[live] = new_h[live], new_c[live]
            y[places[live], np.flatnonzero(live)] = new_h[live]

    def cell(
        self, m: Numbers, direction: Direction, multiplied: Multiplied, given: Any, h: Any, c: Any
    ) -> tuple[Any, Any]:
        """Return h and c of a step, as tensors of a machine.

        Parameters
        ----------
        m, own : of the machine, and the direction.
        multiplied : multiplies floats, quantised, by the weights of a product of the direction.
        given : what the step's input gives to the gates.
        h, c : of the step before.
        """
        gates = m.add(given, multiplied(1, h))
        i, o, f, g = _parts(m, gates, h)

        def opened(gate: Any, cell: Any, peephole: np.ndarray) -> Any:
            if peephole.any():
                gate = m.add(gate, m.multiply(m.machine.constant(peephole), cell))
            return m.one("logistic", self._clipped(m, gate))

        i = opened(i, c, direction.peepholes[0])
        f = m.subtract(1.0, i) if self.coupled else opened(f, c, direction.peepholes[2])
        c = m.add(m.multiply(f, c), m.multiply(i, m.one("tanh", self._clipped(m, g))))
        return m.multiply(opened(o, c, direction.peepholes[1]), m.one("tanh", c)), c

    def _clipped(self, m: Numbers, x: Any) -> Any:
        """Limit sums."""
        if self.clip is None:
            return x
        return m.least(m.greatest(x, -float(self.clip)), float(self.clip))


@dataclass(frozen=True, kw_only=True, eq=False)
class Gru(Recurrent):
    """A GRU, whose activations are quantised like those of an LSTM; it has no c."""

    def cell(
        self, m: Numbers, direction: Direction, multiplied: Multiplied, given: Any, h: Any, c: Any
    ) -> tuple[Any, Any]:
        """Return h of a step, and c as it was; see :meth:`Recurrent.cell`."""
        sums, more = _parts(m, multiplied(1, h), h), _parts(m, given, h)
        z, r = (m.one("logistic", self._clipped(m, m.add(more[at], sums[at]))) for at in range(2))
        if direction.inner is None:
            inner = multiplied(2, m.multiply(r, h))
        else:
            inner = m.multiply(r, m.add(sums[2], m.machine.constant(direction.inner)))
        new = m.one("tanh", self._clipped(m, m.add(more[2], inner)))
        return m.add(m.multiply(m.subtract(1.0, z), new), m.multiply(z, h)), c


def _parts(m: Numbers, x: Any, h: Any) -> list[Any]:
    """Split columns into those of gates, each as wide as h."""
    (_, columns), (_, size) = m.machine.shape(x), m.machine.shape(h)
    return [
        m.machine.moved(x, lambda one, at=at: one[:, at : at + size])
        for at in range(0, columns, size)
    ]
