"""Networks against onnxruntime, on the golden model of a small block."""

from collections.abc import Callable
from typing import Any

import numpy as np

from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.lowered import golden
from carrysave.compiler.lowered.evaluate import evaluate
from carrysave.compiler.lowered.lowered import Lowered
from carrysave.compiler.lowered.operands import Operands
from carrysave.compiler.passes.pipeline import lower
from carrysave.compiler.run.compare import Comparison
from carrysave.compiler.run.exact_product import exact
from carrysave.compiler.target.target import Target
from hw.catalog import Design
from verif.networks.graphs import Builder

__all__ = ["TARGET", "compare", "draw", "lowered", "multiplier"]

TARGET = Target(Design("coprocessor", {"engine": "systolic_os(m=4,n=4)"}))


def lowered(builder: Builder, shape: Any, kind: Any, out: Any) -> Lowered:
    return lower(Graph(builder.model(shape, kind, out)), TARGET)


def multiplier(in_hardware: bool, target: Target = TARGET) -> Callable[..., np.ndarray]:
    def multiply(product: Operands, a: np.ndarray, b: np.ndarray | None) -> np.ndarray:
        compiled = product.compile(target, a, b, in_hardware)
        return golden.product(target.spec, compiled)

    return multiply


def exactly(product: Operands, a: np.ndarray, b: np.ndarray | None) -> np.ndarray:
    """Multiply as the judge does where onnxruntime is not exact."""
    found = exact(product, a, b)
    assert found is not None
    return found


def compare(network: Lowered, x: np.ndarray) -> None:
    """Exactly as onnxruntime where the host requantises; in hardware a step apart, if rarely."""
    assert network.products
    comparison = Comparison(network)
    expected = comparison.run({"x": x}, multiplier(False))
    found = evaluate(network, {"x": x}, multiplier(False))
    assert found["y"].dtype == expected["y"].dtype
    np.testing.assert_array_equal(found["y"], expected["y"])
    assert not comparison.causes()
    np.testing.assert_array_equal(evaluate(network, {"x": x}, exactly)["y"], found["y"])
    in_hardware = Comparison(network)
    in_hardware.run({"x": x}, multiplier(True))
    for one in in_hardware.differences.values():
        assert one.most <= 1
        assert one.differ <= one.codes // 100_000


def draw(rng: np.random.Generator, shape: Any, kind: Any) -> np.ndarray:
    limits = np.iinfo(kind)
    return rng.integers(limits.min, limits.max + 1, shape).astype(kind)
