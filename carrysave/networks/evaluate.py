"""Runs a lowered model: products by a callback, the rest by ONNX's reference evaluator."""

from collections.abc import Callable
from typing import Any

import numpy as np
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

from . import host_operators
from .lower import DOMAIN, Lowered
from .product_base import Operands

__all__ = ["Multiply", "Observe", "evaluate"]

Multiply = Callable[[Operands, np.ndarray, np.ndarray | None], np.ndarray]
"""Computes y from a product's A, and from B if it is not constant."""

Observe = Callable[[str, np.ndarray], np.ndarray]
"""Gets codes computed by the host, by tensor name; returns the codes to continue with."""


def evaluate(
    lowered: Lowered,
    inputs: dict[str, np.ndarray],
    multiply: Multiply,
    observe: Observe = lambda name, codes: codes,
) -> dict[str, np.ndarray]:
    """Return the model's outputs, by name.

    Raises
    ------
    ValueError, RuntimeError
        From `multiply`, or an operator that the host cannot run on these inputs.
    """

    # Classes implement the operators of their names.
    class Product(OpRun):
        op_domain = DOMAIN

        def _run(
            self, a: np.ndarray, b: np.ndarray | None = None, *, index: int = 0
        ) -> tuple[np.ndarray]:
            return (multiply(lowered.products[index], a, b),)

    class QuantizeLinear(host_operators.QuantizeLinear):
        def _run(self, *given: Any, **attributes: Any) -> tuple[np.ndarray]:
            (codes,) = super()._run(*given, **attributes)
            return (observe(self.onnx_node.output[0], codes),)

    own = [Product, QuantizeLinear, host_operators.DequantizeLinear, host_operators.GlobalMaxPool]
    machine: Any = ReferenceEvaluator(lowered.proto, new_ops=own)
    names = lowered.graph.outputs
    return dict(zip(names, machine.run(names, inputs), strict=True))
