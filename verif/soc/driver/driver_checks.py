"""What both drivers must do, whether the co-processor is simulated or a model in software."""

from itertools import pairwise
from typing import Any

import numpy as np

from carrysave.compiler.lowered.golden import codes
from carrysave.driver import Coprocessor, Info, Number, Product, Requantisation
from golden.formats.sparse import SparseFormat
from golden.lut.expander import CODEBOOKS
from golden.lut.trits import pack_trits
from golden.soc.coprocessor import CoprocessorSpec
from golden.soc.mode import wrap

__all__ = ["check_network", "check_products", "draw", "expected", "has_layers", "requantisation"]


def draw(rng: np.random.Generator, number: Number, *shape: int) -> np.ndarray:
    """Draw numbers, the least and the greatest often."""
    values = rng.integers(number.low, number.high, shape, endpoint=True, dtype=np.int64)
    ends = rng.choice(np.array([number.low, number.high], np.int64), shape)
    return np.where(rng.random(shape) < 0.2, ends, values)


def requantisation(
    rng: np.random.Generator, spec: CoprocessorSpec, columns: int | None = None
) -> Requantisation:
    """Draw what makes codes of sums, most of which are within limits; for each column, if any.

    Half of the scales are powers of two, which bring some sums half way between two codes.
    """
    less = spec.inside.sum_width - 8
    shift = min(30 + less, 63) - rng.integers(4, size=columns)
    multiplier = rng.integers(1 << shift - less, 2 << shift - less)
    multiplier = np.where(rng.integers(2, size=columns), multiplier, 1 << shift - less)
    zero_point = rng.integers(-20, 20, columns)
    scale: list[Any] = [multiplier, shift, zero_point]
    if columns is None:
        scale = [int(value) for value in scale]
    return Requantisation(
        multiplier=scale[0],
        shift=scale[1],
        zero_point=scale[2],
        low=-int(rng.integers(100, 129)),
        high=int(rng.integers(90, 128)),
        relu=bool(rng.integers(2)),
    )


def expected(
    spec: CoprocessorSpec,
    a: np.ndarray,
    b: np.ndarray,
    bias: np.ndarray | None = None,
    how: Requantisation | None = None,
) -> np.ndarray:
    """Compute C by the golden models of engine and requantiser."""
    if spec.trits:
        sums, _ = spec.inside.sums(a, pack_trits(b), a.shape[1], (0, 0))
    else:
        sums, _ = spec.inside.multiply(a, b, (0, 0))
    if bias is not None:
        sums = wrap(sums + bias, spec.inside.sum_width, spec.inside.signed)
    if how is None:
        return sums
    return codes(spec, sums, how)


def draw_weights(rng: np.random.Generator, info: Info, *shape: int) -> np.ndarray:
    """Draw numbers of B: of a table, or as many as one has, or no more of a group than masks do."""
    expander = info.expander
    if expander.group:
        return SparseFormat(expander.count, expander.group).prune(draw(rng, info.mode.b, *shape))
    if expander.name not in CODEBOOKS:
        return draw(rng, info.mode.b, *shape)
    held = draw(rng, info.mode.b, expander.table_bytes).tolist()
    table = expander.table or expander.numbers(held, info.mode.b.high)
    return rng.choice(np.asarray(table), shape)


def check_products(
    device: Coprocessor,
    spec: CoprocessorSpec,
    rng: np.random.Generator,
    count: int,
    most: int = 1 << 24,
) -> None:
    """Multiply arrays of random sizes up to `most`, in all the ways that the build has."""
    info = device.info
    for _ in range(count):
        m, n, k = (min(int(rng.geometric(0.07)), info.k_max, most) for _ in range(3))
        a, b = draw(rng, info.a, m, k), draw_weights(rng, info, k, n)
        more: dict[str, Any] = {}
        bias = how = None
        if spec.bias and rng.integers(2):
            more["bias"] = bias = draw(rng, info.sums, n)
        if spec.requantise and rng.integers(2):
            columns = n if spec.requantises_columns and rng.integers(2) else None
            more["requantisation"] = how = requantisation(rng, spec, columns)
        right = expected(spec, a, b, bias, how)
        if spec.accumulates and not more:
            before = draw(rng, info.sums, m, n) // 2
            more = {"accumulate": True, "out": before.astype(info.sums.dtype)}
            if spec.row_factors and rng.integers(2):
                more["row_factors"] = rng.integers(0, 1 << 16, m)
                before = (before * more["row_factors"][:, None] + (1 << 14)) >> 15
            right = wrap(right + before, spec.inside.sum_width, spec.inside.signed)
        c = device.matmul(a, b, **more)
        assert c.dtype == (info.sums if how is None else info.codes).dtype
        assert np.array_equal(c, right), (m, n, k, more)
        found = device.counters()
        if "uncounted" in info.features:
            assert not any(value for name, value in vars(found).items() if name != "peak")
        else:
            assert found.macs == m * n * k
            assert 0 < found.utilisation <= 1


def has_layers(device: Coprocessor, spec: CoprocessorSpec) -> bool:
    """Whether a build has what the layers of a network need, and one format for all of them."""
    built = spec.requantise and spec.bias and "formats" not in device.info.features
    return built and device.info.a.holds(device.info.codes)


def check_network(device: Coprocessor, spec: CoprocessorSpec, rng: np.random.Generator) -> None:
    """Run layers on one start, each of which reads the codes of the one before; twice."""
    info = device.info
    sizes = [5, 12, 7, 3]
    weights = [draw_weights(rng, info, k, n) for k, n in pairwise(sizes)]
    modes = [info.mode.tabled(weight) for weight in weights]
    biases = [draw(rng, info.sums, n) // 256 for n in sizes[1:]]
    scalings = [requantisation(rng, spec) for _ in weights]
    x = device.empty((9, sizes[0]), info.a)
    layers: list[Product] = []
    for weight, mode, bias, how in zip(weights, modes, biases, scalings, strict=True):
        before = layers[-1].c if layers else x
        layers.append(
            device.product(
                before,
                device.place(mode.words(weight), mode.b_stored),
                device.place(bias[None], info.sums),
                requantisation=how,
                mode=mode,
            )
        )
    for _ in range(2):
        values = draw(rng, info.a, 9, sizes[0])
        x.write(values)
        found = device.run(layers)
        for weight, bias, how, layer in zip(weights, biases, scalings, layers, strict=True):
            values = expected(spec, values, weight, bias, how)
            assert np.array_equal(layer.c.read(), values)
        assert found.macs == sum(9 * k * n for k, n in pairwise(sizes))
    assert device.run(layers[:1]).macs == 9 * sizes[0] * sizes[1]
    for layer in layers:
        for matrix in layer.allocated[1:]:
            matrix.free()
    x.free()
