"""Convolutions whose matrices A the loader makes: windows of maps that are in memory.

A map's channels follow each other, and its pixels are apart by as much along each axis. Codes of a
window go by taps, and by channels within one; so do rows of B.
"""

from dataclasses import dataclass, replace
from math import prod

import numpy as np

from carrysave.compiler.graph.im2col import Windows
from carrysave.compiler.lowered.quantised import QuantisedProduct
from carrysave.compiler.program.image import Image
from carrysave.compiler.program.places import regular
from carrysave.compiler.target.target import Target
from carrysave.driver.batch import Work
from carrysave.driver.system import Tensor
from carrysave.driver.window import Window

__all__ = ["Layout", "Map", "fits", "layout_of", "window_works"]


@dataclass(frozen=True, kw_only=True)
class Map:
    """A matrix A of windows.

    Members
    -------
    window : the geometry.
    address : of the map's first code.
    distance : bytes from a row of the map to the next.
    rows : how many windows.
    """

    window: Window
    address: int
    distance: int
    rows: int


@dataclass(frozen=True, kw_only=True)
class Layout:
    """Where codes of batch x channels x height x width are, from the first one's address on."""

    address: int
    sample: int
    row: int
    pixel: int


def window_works(
    product: QuantisedProduct, a: Tensor, image: Image, *, pixels: bool = False
) -> tuple[list[Work], list[Map], tuple[int, ...]] | None:
    """Return the works of a convolution with windows in place of matrices A.

    Parameters
    ----------
    pixels : also of windows that are the pixels, one after the other, which the loader reads as
        rows of A without them.

    Returns
    -------
    Works and their windows, sample by sample, and of each by groups; and the outputs along each
    axis. None: the co-processor makes no such windows, or codes are not laid out as a map.
    """
    windows, weights = product.windows, product.weights
    shape = a.sources.shape
    if not image.target.spec.windows or type(windows) is not Windows or weights is None:
        return None
    outputs = windows.outputs(shape[2:])
    layout = layout_of(a.sources) if len(shape) in (3, 4) else None
    if layout is None or min(outputs) < 1 or (not pixels and _plain(windows, shape[2:])):
        return None
    works = _works(product, image.target, shape[1])
    if works is None:
        return None
    channels = len(works[0].b) // prod(windows.kernel)
    fill = (product.a_zero - a.offset) & 0xFF
    window = _window(windows, shape[2:], layout.pixel, channels, fill)
    if not (window.sized and window.legal) or not fits(window, image.target):
        return None
    rows = prod(outputs)
    maps = [
        Map(
            window=replace(window, channels=len(work.b) // window.taps),
            address=layout.address + sample * layout.sample + channels * number,
            distance=layout.row,
            rows=rows,
        )
        for sample in range(shape[0])
        for number, work in enumerate(works)
    ]
    return works * shape[0], maps, outputs


def layout_of(sources: np.ndarray) -> Layout | None:
    """Return how a map of addresses is laid out; None: not as the loader can read it."""
    if sources.ndim == 3:
        sources = sources[:, :, None]
    first, (batch, channels, height, width) = int(sources[0, 0, 0, 0]), sources.shape
    steps = regular(sources)
    if first < 0 or steps is None or (channels > 1 and steps[1] != 1):
        return None
    pixel = steps[3] if width > 1 else channels
    row = steps[2] if height > 1 else (width - 1) * pixel + channels
    sample = steps[0] if batch > 1 else height * row
    if pixel < channels or row < (width - 1) * pixel + channels:
        return None
    return Layout(address=first, sample=sample, row=row, pixel=pixel)


def _plain(windows: Windows, space: tuple[int, ...]) -> bool:
    """Return whether rows of A are the pixels, one after the other: they need no windows."""
    return prod(windows.kernel) == prod(windows.strides) == 1 and not any(
        sum(pads) for pads in windows.around(space)
    )


def _window(
    windows: Windows, space: tuple[int, ...], pixel: int, channels: int, fill: int
) -> Window:
    """Return the geometry; a line of numbers is a map of one row."""

    def two(values: tuple[int, ...], otherwise: int) -> tuple[int, int]:
        first, second = (otherwise, *values)[-2:]
        return first, second

    height, width = two(space, 1)
    before = tuple(pads[0] for pads in windows.around(space))
    return Window(
        height=height, width=width, across=windows.outputs(space)[-1], channels=channels,
        pixel=pixel, kernel=two(windows.kernel, 1), strides=two(windows.strides, 1),
        dilations=two(windows.dilations, 1), first=two(before, 0), fill=fill,
    )  # fmt: skip


def _works(product: QuantisedProduct, target: Target, channels: int) -> list[Work] | None:
    """Return the works of a window, rows of B by taps; None: weights take several terms."""
    windows, weights = product.windows, product.weights
    assert windows is not None
    assert weights is not None
    groups, depth, _ = weights.shape
    taps = prod(windows.kernel)
    # What is in A does not matter: one window of it is enough.
    alone = replace(windows, pads=(0,) * 2 * len(windows.kernel), auto_pad="NOTSET")
    codes = np.zeros((1, channels, *windows.spread), product.a_type)
    laid = replace(product, windows=alone, turns=False, patches=False)
    works = []
    for work in laid.compile(target, codes, None, True).works:
        bundled = len(work.b) // depth
        if len(work.b) != bundled * depth or work.a is None or groups * depth != channels * taps:
            return None
        rows = work.b.reshape(-1, taps, work.b.shape[1])
        works.append(replace(work, a=None, b=rows.swapaxes(0, 1).reshape(work.b.shape)))
    return works if sum(len(work.b) for work in works) == groups * depth else None


def fits(window: Window, target: Target) -> bool:
    """Return whether the stores hold a tap of a tile."""
    stores = target.mode.stores(target.info.stores)
    tap = -(-window.channels // stores.tile_k)
    return window.codes <= target.mode.k_max and stores.fits(1, 1, tap)
