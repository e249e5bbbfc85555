"""How a convolution of few columns goes onto the engine: the fewest cycles, by the one model."""

from collections.abc import Iterator
from functools import lru_cache
from itertools import product
from math import inf, prod
from operator import mod

from carrysave.compiler.graph.im2col import Windows
from carrysave.compiler.graph.patches import Patched
from carrysave.compiler.target.target import Target
from carrysave.compiler.timing.products import least_cycles, product_cycles

__all__ = ["Mapping", "choose"]

_SIZES = (1, 2, 3, 4, 6, 8)
_UNEVEN = 1.1
"""Times its cycles, a mapping counts for of whose patches some are not whole: records by which the
processor gathers their bytes do not repeat, and are many times as much memory."""
_LATE, _ABOUT = 6, 0.9
"""How many mappings in a row are timed that are not better, in the order of a bound; times which
it is one for certain."""

Mapping = tuple[Patched, bool]
"""Windows of patches, and whether activations take the place of B, and weights that of A."""


_Products = tuple[tuple[int, tuple[int, int, int], int], ...]
"""Products of a mapping: how many; M, K and N; and by how many scales sums become codes."""


@lru_cache(maxsize=1024)
def choose(
    target: Target,
    windows: Windows,
    weights: tuple[int, int, int],
    shape: tuple[int, ...],
    *,
    terms: int,
    scales: int,
    turns: bool,
) -> Mapping | None:
    """Choose patches; None: one output a row is best.

    Parameters
    ----------
    target, windows : co-processor and convolution.
    weights : groups, K and N of one group.
    shape : of the activations.
    terms : parts that weights come in.
    scales : by which sums become codes; 0: sums leave.
    turns : activations may take the place of B. Rows of its results have the outputs of a channel,
        of one scale; they and its rows are long, where those of A are short.
    """
    outputs = windows.outputs(shape[2:])
    few = weights[2] < target.info.stores.tile_n and min(outputs) >= 1
    if not few or windows.depth == 1 or type(windows) is not Windows:
        return None
    options = []
    for plain, rows, deep in _patches(target, windows, weights, shape, terms):
        sizes = weights[0], rows, deep, weights[2]
        for made, which in _ways(target, plain, sizes, scales, turns):
            uneven = which is not None and any(map(mod, outputs, plain.size))
            times = _UNEVEN if uneven else 1.0
            least = sum(
                count * least_cycles(target, one, scales=by, bias=True) for count, one, by in made
            )
            options.append((times * least, times, made, which))
    best: tuple[float, Mapping | None] = inf, None
    late = 0
    for bound, times, made, which in sorted(options, key=lambda option: option[0]):
        if _ABOUT * bound >= best[0] or late == _LATE:
            break
        # Each of those that are turned has its own scale, where there are several.
        alike = scales < 2 or which is None or not which[1]
        cycles = times * sum(
            product_cycles(target, one, scales=by, bias=True, count=count, alike=alike)
            for count, one, by in made
        )
        late += 1
        if cycles < best[0]:
            best, late = (cycles, which), 0
    return best[1]


def _patches(
    target: Target,
    windows: Windows,
    weights: tuple[int, int, int],
    shape: tuple[int, ...],
    terms: int,
) -> Iterator[tuple[Patched, int, int]]:
    """Yield windows of patches, and the rows and depth of one group's product.

    Parameters
    ----------
    target, windows, weights, shape, terms : see :func:`choose`.
    """
    _, depth, columns = weights
    stores, inputs, outputs = target.info.stores, depth // windows.depth, windows.outputs(shape[2:])
    for size in product(*([one for one in _SIZES if one <= most] for most in outputs)):
        plain = Patched(
            kernel=windows.kernel,
            strides=windows.strides,
            dilations=windows.dilations,
            pads=windows.pads,
            auto_pad=windows.auto_pad,
            size=size,
        )
        wide, deep = prod(size) * columns, inputs * plain.depth * terms
        if wide <= 2 * max(stores.tile_m, stores.tile_n) and deep <= target.mode.k_max:
            ups = (-(-count // one) for count, one in zip(outputs, size, strict=True))
            yield plain, shape[0] * prod(ups), deep


def _ways(
    target: Target, plain: Patched, sizes: tuple[int, int, int, int], scales: int, turns: bool
) -> Iterator[tuple[_Products, Mapping | None]]:
    """Yield the products of patches, and what chooses them: as they are, and turned.

    Parameters
    ----------
    plain : the patches.
    sizes : groups, rows, depth, and outputs of a patch's place.
    target, scales, turns : see :func:`choose`.
    """
    groups, rows, deep, columns = sizes
    wide = prod(plain.size) * columns
    bundle = min(groups, max(1, min(target.info.stores.tile_n // wide, target.mode.k_max // deep)))
    whole, rest = divmod(groups, bundle)
    parts = [(whole, bundle), (1, rest)] if rest else [(whole, bundle)]
    made = tuple(
        (count, (rows, some * deep, some * wide), min(scales, some * wide)) for count, some in parts
    )
    yield made, (plain, False) if wide > columns else None
    if turns:
        yield ((groups, (wide, deep, rows), min(scales, 1)),), (plain, True)
