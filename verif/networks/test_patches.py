"""Transposed convolutions, and groups of few channels, against onnxruntime; and their cycles."""

from functools import reduce
from itertools import combinations, product
from operator import or_
from typing import Any

import numpy as np
import pytest

from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.graph.patches import Patched, toeplitz
from carrysave.compiler.lowered import golden
from carrysave.compiler.lowered.evaluate import evaluate
from carrysave.compiler.lowered.lowered import Lowered
from carrysave.compiler.lowered.operands import Operands
from carrysave.compiler.passes.pipeline import lower
from carrysave.compiler.program.cost import spent
from carrysave.compiler.run.alone import product_job
from carrysave.compiler.run.compare import Comparison
from carrysave.compiler.run.exact_product import exact
from carrysave.compiler.target.target import Target
from hw.catalog import Design
from verif.networks.comparing import TARGET, draw, lowered
from verif.networks.graphs import Builder

F32, I8, U8 = np.float32, np.int8, np.uint8
TRANSPOSED: dict[str, dict[str, Any]] = {
    "plain": {"kernel": (3, 3)},
    "twice": {"kernel": (2, 2), "strides": [2, 2]},
    "padded": {"kernel": (4, 4), "strides": [2, 2], "pads": [1, 1, 1, 1]},
    "uneven": {"kernel": (3, 4), "strides": [2, 3], "pads": [1, 0, 0, 2]},
    "more": {"kernel": (3, 3), "strides": [2, 2], "pads": [1, 1, 1, 1], "output_padding": [1, 1]},
    "dilated": {"kernel": (3, 2), "strides": [2, 1], "dilations": [3, 2], "pads": [2, 1, 1, 0]},
    "far": {"kernel": (2, 2), "strides": [3, 3], "output_padding": [2, 1]},
    "much taken": {"kernel": (3, 3), "strides": [2, 2], "pads": [4, 3, 5, 2]},
    "groups": {"kernel": (3, 3), "strides": [2, 2], "group": 2},
    "shape": {"kernel": (3, 3), "strides": [2, 2], "output_shape": [10, 12]},
    "same_upper": {"kernel": (3, 4), "strides": [2, 3], "auto_pad": "SAME_UPPER"},
    "same_lower": {"kernel": (3, 4), "strides": [2, 3], "auto_pad": "SAME_LOWER"},
    "one_axis": {"kernel": (5,), "strides": [2], "pads": [2, 1]},
}


def transposed(how: dict[str, Any], *, columns: bool, codes: bool) -> tuple[Builder, Any]:
    """Make a ConvTranspose of 4 to 6 channels between quantisers."""
    rng = np.random.default_rng(1)
    b = Builder(rng)
    how = dict(how)
    kernel, group = how.pop("kernel"), how.get("group", 1)
    scale, zero = b.constant(0.02), b.zero(U8)
    b.node("QuantizeLinear", ["x", scale, zero], "q")
    b.node("DequantizeLinear", ["q", scale, zero], "f")
    count = (6,) if columns else ()
    step = rng.uniform(0.001, 0.02, count).astype(F32)
    own = [b.codes((4, 6 // group, *kernel), I8), b.constant(step)]
    b.node("DequantizeLinear", [*own, b.constant(np.zeros(count), I8)], "w", axis=1)
    sums = b.constant(rng.integers(-900, 900, 6), np.int32)
    both = b.constant(np.float32(0.02) * step)
    zeros = b.constant(np.zeros(count), np.int32)
    b.node("DequantizeLinear", [sums, both, zeros], "b", axis=0)
    b.node("ConvTranspose", ["f", "w", "b"], "c" if codes else "y", **how)
    if codes:
        out = [b.constant(0.05), zero]
        b.node("QuantizeLinear", ["c", *out], "d")
        b.node("DequantizeLinear", ["d", *out], "y")
    return b, (2, 4, *(5, 6)[: len(kernel)])


@pytest.mark.sample(10)
@pytest.mark.parametrize("columns", [False, True], ids=["tensor", "column"])
@pytest.mark.parametrize("name", TRANSPOSED)
def test_transposed(name: str, columns: bool) -> None:
    how = TRANSPOSED[name]
    b, shape = transposed(how, columns=columns and how.get("group", 1) == 1, codes=True)
    x = np.random.default_rng(2).normal(size=shape).astype(F32)
    network = lowered(b, shape, F32, F32)
    assert [product.operator for product in network.products] == ["ConvTranspose"]
    comparison = Comparison(network)
    comparison.run({"x": x}, _on(TARGET))
    found = comparison.differences["ConvTranspose", True]
    # Sums are exact here; onnxruntime has no kernel of codes, and rounds floats.
    assert found.codes > 100
    assert found.most <= 1
    assert found.differ <= 1 + found.codes // 1000
    assert all("no kernel" in cause["why"] for cause in comparison.causes())
    # The judge of a network has all outputs of a patch in their places, too.
    (product_,) = network.products
    codes = draw(np.random.default_rng(4), shape, U8)
    judged = exact(product_, codes, None)
    assert judged is not None
    np.testing.assert_allclose(judged, _on(TARGET)(product_, codes, None), rtol=0, atol=1)


@pytest.mark.parametrize("name", ["padded", "groups"])
def test_transposed_to_floats(name: str) -> None:
    b, shape = transposed(TRANSPOSED[name], columns=name == "padded", codes=False)
    x = np.random.default_rng(3).normal(size=shape).astype(F32)
    network = lowered(b, shape, F32, F32)
    comparison = Comparison(network)
    expected = comparison.run({"x": x}, _on(TARGET))["y"]
    found = evaluate(network, {"x": x}, _on(TARGET))["y"]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4)


def test_transposed_has_no_zeros_in_b() -> None:
    """Where strides divide the kernel, every product of B is part of an output."""
    b, shape = transposed(TRANSPOSED["twice"], columns=False, codes=True)
    (product_,) = lowered(b, shape, F32, F32).products
    made = product_.compile(TARGET, draw(np.random.default_rng(4), shape, U8), None, True)
    assert made.macs == 2 * 5 * 6 * 4 * 6 * 4
    assert sum(work.a.shape[0] * work.b.size for work in made.works if work.a is not None) == (
        made.macs
    )


def _on(target: Target) -> Any:
    def multiply(product: Operands, a: np.ndarray, b: np.ndarray | None) -> np.ndarray:
        return golden.product(target.spec, product.compile(target, a, b, True))

    return multiply


def groups(
    engine: str,
    *,
    kinds: tuple[Any, Any] = (U8, I8),
    channels: int = 6,
    wide: int = 1,
    side: int = 9,
    batch: int = 2,
    bus: int | None = None,
    **how: Any,
) -> tuple[Target, Lowered, np.ndarray]:
    """Make a QLinearConv of groups of one input, and `wide` outputs each."""
    rng = np.random.default_rng(5)
    b = Builder(rng)
    outputs = channels * wide
    kernel = how.pop("kernel", (3, 3))
    zero = b.zero(kinds[1]) if kinds[1] is U8 else b.constant(np.zeros(outputs), I8)
    inputs = [
        "x",
        b.scale(),
        b.zero(kinds[0]),
        b.codes((outputs, 1, *kernel), kinds[1]),
        b.scale(outputs),
        zero,
        b.constant(0.9),
        b.zero(kinds[0]),
        b.constant(rng.integers(-5000, 5000, outputs), np.int32),
    ]
    b.node("QLinearConv", inputs, "y", group=channels, **how)
    shape = (batch, channels, *(side, side - 2)[: len(kernel)])
    more = {} if bus is None else {"data_width": bus}
    target = Target(Design("coprocessor", {"engine": engine, **more}))
    graph = Graph(b.model(shape, kinds[0], kinds[0]))
    return target, lower(graph, target), draw(rng, shape, kinds[0])


ENGINES = {
    "8x8": "systolic_os(m=8,n=8)",
    "2x16": "systolic_os(m=2,n=16)",
    "16x2": "systolic_os(m=16,n=2)",
    "tree": "adder_tree(n=8,k=8)",
}


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    ("how", "kinds"),
    [
        ({"pads": [1, 1, 1, 1]}, (U8, I8)),
        ({"strides": [2, 1], "pads": [1, 0, 1, 2]}, (I8, I8)),
        ({"dilations": [2, 1]}, (U8, U8)),
        ({"auto_pad": "SAME_LOWER", "strides": [2, 2]}, (U8, I8)),
        ({"wide": 2, "pads": [1, 1, 1, 1]}, (U8, U8)),
        ({"kernel": (5,), "pads": [2, 2]}, (I8, I8)),
    ],
    ids=["padded", "strided", "dilated", "same", "wide", "one_axis"],
)
@pytest.mark.parametrize("engine", ENGINES)
def test_patches(engine: str, how: dict[str, Any], kinds: tuple[Any, Any]) -> None:
    """Codes are onnxruntime's, whatever the mapping; those of the hardware within a step."""
    target, network, x = groups(ENGINES[engine], kinds=kinds, **how)
    comparison = Comparison(network)
    comparison.run({"x": x}, _on(target))
    (found,) = comparison.differences.values()
    assert found.codes
    assert found.most <= 1
    assert found.differ <= 2 + found.codes // 1000


UTILISATION = {
    # Of 8 x 8: 9/24 is the most that B, shared by all rows, can have; side by side it is 1/8.
    ("systolic_os(m=8,n=8)", None): (0.32, 9 / 24),
    ("systolic_os(m=4,n=16)", None): (0.46, 9 / 16),
    ("adder_tree(n=8,k=8)", None): (0.46, 9 / 16),
    # Two outputs are made of 12 inputs; a narrow bus does not bring as many.
    ("systolic_os(m=2,n=32)", 256): (0.60, 9 / 12),
}


@pytest.mark.parametrize(("engine", "bus"), UTILISATION)
def test_depthwise_does_not_waste_the_array(engine: str, bus: int | None) -> None:
    """Of 32 channels: near the bound, of what the array makes while it takes operands."""
    target, network, x = groups(engine, channels=32, side=18, batch=8, bus=bus)
    (own,) = network.products
    made = own.compile(target, x, None, True)
    assert made.macs == 8 * 16 * 14 * 32 * 9
    jobs = [product_job(work, target) for work in made.works]
    used = made.macs / sum(spent(job, target).slots for job in jobs)
    least, most = UTILISATION[engine, bus]
    assert least <= used <= most


def test_no_patch_of_eight_has_fewer_inputs_than_24() -> None:
    """The bound: of all sets of 8 outputs of 4 x 4.

    Those of other places have no fewer: r rows of outputs have 8 + 2r inputs in these rows, in as
    many columns as the longest row, 8 / r or more, and two; two more inputs for each of them make
    12 + 2r + 16 / r, which is 24 or more.
    """
    inputs = [
        sum(1 << 6 * (x + i) + y + j for i, j in product(range(3), range(3)))
        for x, y in product(range(4), range(4))
    ]
    assert min(reduce(or_, places).bit_count() for places in combinations(inputs, 8)) == 24


def test_toeplitz_columns_are_the_kernel() -> None:
    """Each column holds the kernel once, at the place of its output."""
    rng = np.random.default_rng(6)
    weights = rng.integers(1, 100, (3, 6, 2))
    windows = Patched(
        kernel=(3, 2), strides=(2, 1), dilations=(1, 2), pads=(0, 0, 0, 0), size=(2, 3)
    )
    made = toeplitz(weights, windows)
    assert windows.reach == (5, 5)
    assert made.shape == (3, 25, 12)
    spaced = made.reshape(3, 5, 5, 2, 3, 2)
    for p, q in product(range(2), range(3)):
        np.testing.assert_array_equal(
            spaced[:, 2 * p : 2 * p + 3, q : q + 3 : 2, p, q].reshape(3, 6, 2), weights
        )
    assert np.count_nonzero(made) == weights.size * 6
