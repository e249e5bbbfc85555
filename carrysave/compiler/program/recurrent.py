"""Places recurrent layers in a program: products as jobs, gates as steps on floats."""

from dataclasses import dataclass, replace

import numpy as np

from carrysave.compiler.graph.arithmetic import Numbers
from carrysave.compiler.graph.kernels import Unsupported
from carrysave.compiler.lowered.quantised import QuantisedProduct
from carrysave.compiler.lowered.recurrent import Direction, Recurrent
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
    emitted = _Layer(layer, image, emitter, Numbers(emitter))
    rows = x.sources.reshape(-1, x.sources.shape[2])
    codes = dynamic_codes(emitter, replace(x, sources=rows))
    results = [
        emitted.direction(
            one,
            codes,
            x.sources.shape[:2],
            [replace(one, sources=one.sources[number]) for one in states],
        )
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

    def direction(
        self, one: Direction, x: DynamicCodes, size: tuple[int, ...], states: list[Tensor]
    ) -> tuple[list[Tensor], Tensor]:
        """Place the steps of a direction; return h of each, and the last c."""
        m, (steps, batch), (h, c) = self.numbers, size, states

        def multiplied(at: int, x: Tensor) -> Tensor:
            return self.scaled(one.products[at], dynamic_codes(self.emitter, x), one.scales[at])

        sums = self.scaled(one.products[0], x, one.scales[0])
        given = m.add(sums, self.emitter.constant(one.bias))
        steps_made: dict[int, Tensor] = {}
        for step in sorted(range(steps), reverse=one.backward):
            rows = replace(given, sources=given.sources[step * batch : (step + 1) * batch])
            h, c = self.layer.cell(m, one, multiplied, rows, h, c)
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
