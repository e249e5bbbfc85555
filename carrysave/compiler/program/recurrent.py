"""Places recurrent layers in a program: products as jobs, gates as steps on floats."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from carrysave.compiler.graph.arithmetic import Numbers
from carrysave.compiler.graph.kernels import Unsupported
from carrysave.compiler.lowered.quantised import QuantisedProduct
from carrysave.compiler.lowered.recurrent import Direction, Gru, Recurrent
from carrysave.compiler.program.arithmetic import Emitter
from carrysave.compiler.program.dynamic import DynamicCodes, dynamic_codes
from carrysave.compiler.program.image import Image
from carrysave.compiler.program.products import sums
from carrysave.driver.system import Tensor

__all__ = ["recurrent", "taken_by"]

_FLOAT = np.dtype(np.float32)


def recurrent(
    layer: Recurrent, image: Image, emitter: Emitter, x: Tensor, states: tuple[Tensor, Tensor]
) -> list[Tensor]:
    """Place a layer; return Y, Y_h and Y_c.

    Parameters
    ----------
    x : floats, steps x batch x inputs.
    states : h and c before the first step, directions x batch x H.

    Raises
    ------
    Unsupported
        Its products are no jobs.
    """
    kind = _Gru if isinstance(layer, Gru) else _Layer
    own = kind(layer, image, emitter, Numbers(emitter))
    codes = own.dynamic(_shaped(x, (-1, x.sources.shape[2])))
    results = [
        own.direction(one, codes, x.sources.shape[:2], [_at(state, number) for state in states])
        for number, one in enumerate(layer.directions)
    ]
    y = np.stack([[h.sources for h in each] for each, _ in results], axis=1)
    last = np.stack([
        each[0 if one.backward else -1].sources
        for (each, _), one in zip(results, layer.directions, strict=True)
    ])
    cells = np.stack([c.sources for _, c in results])
    return [Tensor(sources, _FLOAT, 0) for sources in (y, last, cells)]


def taken_by(layer: Recurrent, y: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape of what a layer takes, by that of what it makes."""
    weights = layer.products[0].weights
    assert weights is not None
    return y[0], y[2], len(weights)


@dataclass(frozen=True)
class _Layer:
    """A layer, and where it goes."""

    layer: Recurrent
    image: Image
    emitter: Emitter
    numbers: Numbers

    def dynamic(self, x: Tensor) -> DynamicCodes:
        """Quantise floats by their range."""
        return dynamic_codes(self.emitter, x)

    def direction(
        self, one: Direction, x: DynamicCodes, size: tuple[int, ...], states: list[Tensor]
    ) -> tuple[list[Tensor], Tensor]:
        """Place the steps of a direction; return h of each, and the last c."""
        m, (steps, batch), (h, c) = self.numbers, size, states
        sums = self.scaled(one.products[0], x, one.scales[0])
        given = m.add(sums, self.emitter.constant(one.bias))
        steps_made: dict[int, Tensor] = {}
        for step in sorted(range(steps), reverse=one.backward):
            rows = _part(given, slice(step * batch, (step + 1) * batch), 0)
            h, c = self.cell(one, rows, h, c)
            steps_made[step] = h
        return [steps_made[step] for step in range(steps)], c

    def scaled(self, product: QuantisedProduct, x: DynamicCodes, scale: np.ndarray) -> Tensor:
        """Multiply codes by weights; make floats of the sums."""
        assert product.weights is not None
        numbers = self.image.target.mode.b
        least, most = product.weights.min(initial=0), product.weights.max(initial=0)
        if not numbers.low <= least <= most <= numbers.high:
            raise Unsupported(f"weights must be {numbers.low}..{numbers.high}, not {least}..{most}")
        columns = self.emitter.integers(product.weights.sum(axis=0))
        bias = self.emitter.integer_products(columns, x.more)
        added = sums(
            self.image,
            (product.name, product.operator),
            x.codes.sources,
            product.weights,
            bias.sources.reshape(-1),
        )
        floats = self.emitter.decoded(Tensor(added, np.dtype(np.int32), 0))
        steps = self.numbers.multiply(x.step, self.emitter.constant(scale))
        return self.emitter.two("multiply", floats, steps)

    def cell(self, one: Direction, given: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
        """Return h and c of a step, as :class:`Recurrent` computes them."""
        m, peepholes = self.numbers, one.peepholes
        gates = m.add(given, self.scaled(one.products[1], self.dynamic(h), one.scales[1]))
        size = gates.sources.shape[1] // 4
        i, o, f, g = (_part(gates, slice(at * size, (at + 1) * size), 1) for at in range(4))
        i = m.one("logistic", self.clipped(self.seen(i, c, peepholes[0])))
        f = (
            m.subtract(1.0, i)
            if self.layer.coupled
            else m.one("logistic", self.clipped(self.seen(f, c, peepholes[2])))
        )
        c = m.add(m.multiply(f, c), m.multiply(i, m.one("tanh", self.clipped(g))))
        o = m.one("logistic", self.clipped(self.seen(o, c, peepholes[1])))
        return m.multiply(o, m.one("tanh", c)), c

    def seen(self, gate: Tensor, c: Tensor, peephole: np.ndarray) -> Tensor:
        """Add what a gate sees of the cell."""
        if not peephole.any():
            return gate
        return self.numbers.add(gate, self.numbers.multiply(self.emitter.constant(peephole), c))

    def clipped(self, x: Tensor) -> Tensor:
        """Limit sums."""
        clip: Any = self.layer.clip
        if clip is None:
            return x
        return self.numbers.least(self.numbers.greatest(x, -float(clip)), float(clip))


class _Gru(_Layer):
    """A GRU, and where it goes."""

    def cell(self, one: Direction, given: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
        """Return h of a step, as :class:`Gru` computes it, and c as it was."""
        m, size = self.numbers, h.sources.shape[1]
        parts = [slice(at * size, (at + 1) * size) for at in range(3)]
        sums = self.scaled(one.products[1], self.dynamic(h), one.scales[1])
        z, r = (
            m.one("logistic", self.clipped(m.add(_part(given, part, 1), _part(sums, part, 1))))
            for part in parts[:2]
        )
        if one.inner is None:
            reset = self.dynamic(m.multiply(r, h))
            inner = self.scaled(one.products[2], reset, one.scales[2])
        else:
            bias = self.emitter.constant(one.inner)
            inner = m.multiply(r, m.add(_part(sums, parts[2], 1), bias))
        new = m.one("tanh", self.clipped(m.add(_part(given, parts[2], 1), inner)))
        return m.add(m.multiply(m.subtract(1.0, z), new), m.multiply(z, h)), c


def _part(x: Tensor, part: slice, axis: int) -> Tensor:
    return Tensor(x.sources[part] if axis == 0 else x.sources[:, part], x.kind, x.offset)


def _at(x: Tensor, number: int) -> Tensor:
    return Tensor(x.sources[number], x.kind, x.offset)


def _shaped(x: Tensor, shape: tuple[int, ...]) -> Tensor:
    return Tensor(x.sources.reshape(shape), x.kind, x.offset)
