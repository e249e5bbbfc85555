"""Convolutions along three axes: windows of maps whose pixels have the codes of all planes.

Of a plane of results, the planes that it is made of follow each other in each pixel, as channels
do: so it is a job of windows of these, and planes beyond the edges are none of them.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from carrysave.compiler.graph.im2col import Windows
from carrysave.compiler.lowered.quantised import QuantisedProduct
from carrysave.compiler.program.cut import Part, Sources
from carrysave.compiler.program.image import Image
from carrysave.compiler.program.windows import window_works
from carrysave.driver.system import Tensor

__all__ = ["channels_last", "volume"]

_VOLUME = 5
"""Axes of samples, channels, planes, rows and columns."""


def channels_last(sources: np.ndarray, shape: Sequence[int]) -> np.ndarray:
    """Return where codes are that lie one after the other, channels last, planes before these."""
    axes = len(shape)
    order = [0, 3, 4, 2, 1] if axes == _VOLUME else [0, *range(2, axes), 1]
    laid = sources.reshape([shape[axis] for axis in order])
    return laid.transpose(np.argsort(order, kind="stable"))


def volume(product: QuantisedProduct, a: Tensor, image: Image) -> Sources | None:
    """Have the loader make windows for each plane of results; None: it cannot."""
    windows, weights = product.windows, product.weights
    if a.sources.ndim != _VOLUME or type(windows) is not Windows or weights is None:
        return None
    if len(weights) > 1 or windows.dilations[0] > 1 or a.kind != product.a_type:
        return None
    outputs = windows.outputs(a.sources.shape[2:])
    planes = [_plane(product, a, image, number) for number in range(outputs[0])]
    known = [one for one in planes if one is not None]
    if len(known) < len(planes) or min(outputs) < 1:
        return None
    batch, columns = a.sources.shape[0], weights.shape[-1]

    def shaped(places: list[np.ndarray]) -> np.ndarray:
        made = np.stack(places).reshape(batch, outputs[0], -1, columns)
        return made.transpose(0, 3, 1, 2).reshape(batch, columns, *outputs)

    return Sources(
        # Planes of a sample lie side by side.
        parts=[parts[sample] for sample in range(batch) for parts in known],
        shaped=shaped,
        macs=product.useful(a.sources.shape),
        beside=True,
    )


def _inside(windows: Windows, planes: int, number: int) -> tuple[range, range]:
    """Return the planes of a map that a plane of results is made of, and their taps."""
    (before, _), *_ = windows.around((planes, *[1] * (len(windows.kernel) - 1)))
    first = number * windows.strides[0] - before
    taps = range(max(0, -first), min(windows.kernel[0], planes - first))
    return range(first + taps.start, first + taps.stop), taps


def _plane(product: QuantisedProduct, a: Tensor, image: Image, number: int) -> list[Part] | None:
    """Return the jobs of a plane of results, sample by sample."""
    windows, weights = product.windows, product.weights
    assert windows is not None
    assert weights is not None
    batch, channels, planes, *space = a.sources.shape
    inside, taps = _inside(windows, planes, number)
    if not taps:
        return None
    depth = len(taps) * channels
    codes = weights.reshape(1, channels, windows.kernel[0], -1, weights.shape[-1])
    codes = codes[:, :, taps.start : taps.stop].swapaxes(1, 2)
    sources = a.sources[:, :, inside.start : inside.stop].swapaxes(1, 2)
    pads = [
        pad for side in zip(*windows.around(a.sources.shape[2:])[1:], strict=True) for pad in side
    ]
    flat = replace(
        product,
        weights=codes.reshape(1, -1, weights.shape[-1]),
        windows=Windows(
            kernel=windows.kernel[1:],
            strides=windows.strides[1:],
            dilations=windows.dilations[1:],
            pads=tuple(pads),
        ),
    )
    made = window_works(
        flat, replace(a, sources=sources.reshape(batch, depth, *space)), image, pixels=True
    )
    if made is None or len(made[0]) > batch:
        return None
    return [Part(work=work, a=one) for work, one in zip(*made[:2], strict=True)]
