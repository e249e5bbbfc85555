"""How a convolution of few columns goes onto the engine: the fewest cycles, by the cost model."""

from functools import lru_cache
from itertools import product
from math import prod

from carrysave.compiler.graph.im2col import Windows
from carrysave.compiler.graph.patches import Patched
from carrysave.compiler.target.target import Target

__all__ = ["Mapping", "choose"]

_SIZES = (1, 2, 3, 4, 6, 8)

Mapping = tuple[Patched, bool]
"""Windows of patches, and whether activations take the place of B, and weights that of A."""


@lru_cache(maxsize=1024)
def choose(
    target: Target,
    windows: Windows,
    weights: tuple[int, int, int],
    shape: tuple[int, ...],
    *,
    terms: int,
    requantised: bool,
    turns: bool,
) -> Mapping | None:
    """Choose patches; None: one output a row is best.

    Parameters
    ----------
    target, windows : co-processor and convolution.
    weights : groups, K and N of one group.
    shape : of the activations.
    terms : parts that weights come in.
    requantised : results are codes.
    turns : activations may take the place of B. Rows of its results have the outputs of a channel,
        of one scale; they and its rows are long, where those of A are short.
    """
    groups, depth, columns = weights
    tile_m, tile_n = target.info.stores.tile_m, target.info.stores.tile_n
    outputs = windows.outputs(shape[2:])
    if columns >= tile_n or min(outputs) < 1 or windows.depth == 1 or type(windows) is not Windows:
        return None
    inputs = depth // windows.depth
    best: tuple[int, Mapping | None] | None = None
    for size in product(*([one for one in _SIZES if one <= most] for most in outputs)):
        wide = prod(size) * columns
        if wide > 2 * max(tile_m, tile_n):
            continue
        plain = Patched(
            kernel=windows.kernel,
            strides=windows.strides,
            dilations=windows.dilations,
            pads=windows.pads,
            auto_pad=windows.auto_pad,
            size=size,
        )
        deep = inputs * plain.depth * terms
        rows = shape[0] * prod(-(-count // one) for count, one in zip(outputs, size, strict=True))
        most = target.mode.k_max
        if deep > most:
            continue
        bundle = min(groups, max(1, min(tile_n // wide, most // deep)))
        whole, rest = divmod(groups, bundle)
        each = target.product_cycles(rows, bundle * deep, bundle * wide, requantised=requantised)
        cycles = whole * each
        if rest:
            cycles += target.product_cycles(rows, rest * deep, rest * wide, requantised=requantised)
        options = [(cycles, (plain, False) if wide > columns else None)]
        if turns:
            each = target.product_cycles(wide, deep, rows, requantised=requantised)
            options.append((groups * each, (plain, True)))
        for one in options:
            if best is None or one[0] < best[0]:
                best = one
    return None if best is None else best[1]
