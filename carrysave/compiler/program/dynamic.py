"""Codes whose steps are found when a program runs, and products of them with constant weights."""

from dataclasses import dataclass, replace

import numpy as np

from carrysave.compiler.graph.arithmetic import Numbers
from carrysave.compiler.lowered.quantised import QuantisedProduct
from carrysave.compiler.program.arithmetic import Emitter
from carrysave.compiler.program.cut import addressed
from carrysave.compiler.program.image import Image
from carrysave.compiler.program.products import sums
from carrysave.driver.system import Tensor

__all__ = ["DynamicCodes", "dynamic_codes", "dynamic_product"]

_CODES, _FLOAT = np.dtype(np.uint8), np.dtype(np.float32)
_MIDDLE = 128
"""Code of uint8 that is 0 in memory."""


@dataclass(frozen=True)
class DynamicCodes:
    """Codes of uint8 less 128, their step, and 128 less the code of 0."""

    codes: Tensor
    step: Tensor
    more: Tensor

    def outputs(self, emitter: Emitter) -> list[Tensor]:
        """Return what DynamicQuantizeLinear makes: codes, step and the code of 0."""
        zero = emitter.added_codes(Numbers(emitter).subtract(0.0, self.more), emitter.constant(0.0))
        return [
            Tensor(self.codes.sources, _CODES, _MIDDLE),
            Tensor(self.step.sources.reshape(()), _FLOAT, 0),
            Tensor(zero.sources.reshape(()), _CODES, _MIDDLE),
        ]


def dynamic_codes(emitter: Emitter, x: Tensor) -> DynamicCodes:
    """Quantise floats by their range, as :func:`host_quantisers.dynamic_codes`."""
    m = Numbers(emitter)
    axes = range(x.sources.ndim)
    low = m.least(emitter.reduced("least", x, axes), 0.0)
    high = m.greatest(emitter.reduced("greatest", x, axes), 0.0)
    step = m.divide(m.subtract(high, low), 255.0)
    # Of zeros alone the step is 0, and so are all codes.
    zero = emitter.two("divide", m.subtract(0.0, low), step)
    zero = emitter.rounded(m.greatest(m.least(zero, 255.0), 0.0))
    more = m.subtract(128.0, zero)
    codes = emitter.added_codes(emitter.two("divide", x, step), m.subtract(zero, 128.0))
    return DynamicCodes(codes, step, more)


def dynamic_product(image: Image, product: QuantisedProduct, tensors: dict[str, Tensor]) -> bool:
    """Multiply codes less a zero point that is in memory by weights; return whether both are.

    What is beyond the edges of windows is the byte of the zero point.

    Parameters
    ----------
    tensors : what is in memory; gets the sums.
    """
    a, zero = tensors.get(product.a), tensors.get(product.a_late)
    if a is None or zero is None:
        return False
    emitter = Emitter(image, product.name, product.operator)
    byte = int(zero.sources)
    more = Numbers(emitter).subtract(
        0.0, emitter.decoded(Tensor(zero.sources.reshape(1), np.dtype(np.int8), 0))
    )
    bound = replace(product.bound(np.array(_MIDDLE, np.uint8)), turns=False, patches=False)
    compiled, lefts = addressed(bound, a, image)
    places = []
    for work, far in zip(compiled.works, lefts, strict=True):
        assert work.bias is None or not work.bias.any()
        added = emitter.integer_products(emitter.integers(work.b.sum(axis=0)), more)
        places.append(
            sums(
                image,
                (product.name, product.operator),
                np.where(far >= 0, far, byte),
                work.b,
                added.sources.reshape(-1),
            )
        )
    cut = compiled.cut
    tensors[product.y] = Tensor(cut.shaped(cut.join(places)), np.dtype(np.int32), 0)
    return True
