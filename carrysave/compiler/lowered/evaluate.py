"""Runs a lowered model: products by a callback, the rest by ONNX's reference evaluator."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
from onnx import NodeProto, helper
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

from carrysave.compiler.graph import host_quantisers
from carrysave.compiler.graph.arithmetic import ARITHMETIC
from carrysave.compiler.graph.code_table import TABLE
from carrysave.compiler.graph.graph import DOMAIN
from carrysave.compiler.graph.host_operators import OPERATORS
from carrysave.compiler.graph.host_runtime import on_host
from carrysave.compiler.graph.host_work import operations
from carrysave.compiler.graph.memory import limited
from carrysave.compiler.graph.names import label
from carrysave.compiler.graph.node_sizes import check_outputs
from carrysave.compiler.graph.tensors import without_mapped
from carrysave.compiler.lowered.lowered import Lowered
from carrysave.compiler.lowered.operands import Operands

__all__ = ["Multiply", "Observe", "ProductError", "evaluate", "evaluator"]

Multiply = Callable[[Operands, np.ndarray, np.ndarray | None], np.ndarray]
"""Computes y from a product's A, and from B if it is not constant."""

Observe = Callable[[str, np.ndarray], np.ndarray]
"""Gets codes computed by the host, or their scale or zero point, by tensor name; returns those to
continue with.
"""


class ProductError(ValueError):
    """A product that cannot run on what it gets.

    Members
    -------
    node : its name, or that of the layer.
    """

    def __init__(self, node: str, why: object) -> None:
        super().__init__(str(why))
        self.node = node


def evaluate(
    lowered: Lowered,
    inputs: dict[str, np.ndarray],
    multiply: Multiply,
    observe: Observe = lambda name, codes: codes,
    host: Counter[str] | None = None,
) -> dict[str, np.ndarray]:
    """Return the model's outputs, by name; count the host's operations by operator, if asked to.

    Raises
    ------
    ValueError
        From `multiply`; an operator that the host cannot run on these inputs, or that would make a
        tensor beyond the limit; names the node.
    """
    with limited("to run the model"):
        machine = evaluator(lowered, multiply, observe)
        # Not by its `run`, which says neither which node failed, nor how large its output will be.
        values = {"": None, **machine.rt_inits_, **inputs}
        nodes: list[Any] = machine.rt_nodes_
        for node in nodes:
            given = [values[name] for name in node.input]
            if node.onnx_node.domain == DOMAIN:
                made = node.run(*given)
            else:
                check_outputs(node.onnx_node, given, machine.opsets)
                made = on_host(node, given, machine.opsets)
            if host is not None and node.onnx_node.op_type != "Product":
                model_node = _of_model(lowered, node.onnx_node)
                host[model_node.op_type] += operations(model_node, given, made)
            values.update(zip(node.output, made, strict=False))
    return {name: values[name] for name in lowered.graph.outputs}


def evaluator(lowered: Lowered, multiply: Multiply, observe: Observe) -> Any:
    """Return ONNX's evaluator of a lowered model, with the arguments of :func:`evaluate`."""

    # Classes implement the operators of their names.
    class Product(OpRun):
        op_domain = DOMAIN

        def _run(
            self,
            a: np.ndarray,
            b: np.ndarray | None = None,
            *late: np.ndarray | None,
            index: int = 0,
        ) -> tuple[np.ndarray]:
            product = lowered.products[index]
            try:
                return (multiply(product.bound(*late), a, b),)
            except ValueError as error:
                raise ProductError(product.name, error) from None

    class Recurrent(OpRun):
        op_domain = DOMAIN

        def _run(self, x: np.ndarray, *given: Any) -> tuple[np.ndarray, ...]:
            layer = lowered.recurrent[self.onnx_node.name]
            states = (*given, None, None, None)[:3]
            try:
                results = layer.run(lambda operators, a: multiply(operators, a, None), x, *states)
            except ValueError as error:
                text = f"{label(layer.node)}: {error}"
                raise ProductError(self.onnx_node.name, text) from None
            return tuple(map(observe, self.onnx_node.output, results))

    class Fallback(OpRun):
        op_domain = DOMAIN

        def _run(self, *given: Any, index: int = 0) -> tuple[Any, ...]:
            return tuple(lowered.fallbacks[index].run(given))

    class Table(OpRun):
        op_domain = DOMAIN

        def _run(self, *codes: np.ndarray, index: int = 0) -> tuple[np.ndarray]:
            made = lowered.tables[index].run(codes)
            return (observe(self.onnx_node.output[0], made),)

    class Arithmetic(OpRun):
        op_domain = DOMAIN

        def _run(self, *given: Any, index: int = 0) -> tuple[np.ndarray]:
            return (lowered.arithmetic[index].run(given),)

    class QuantizeLinear(host_quantisers.QuantizeLinear):
        def _run(self, *given: Any, **attributes: Any) -> tuple[np.ndarray]:
            (codes,) = super()._run(*given, **attributes)
            return (observe(self.onnx_node.output[0], codes),)

    class DynamicQuantizeLinear(host_quantisers.DynamicQuantizeLinear):
        def _run(self, x: np.ndarray) -> tuple[np.ndarray, ...]:
            names = self.onnx_node.output
            return tuple(map(observe, names, super()._run(x)))

    operators = [
        Product,
        Recurrent,
        Fallback,
        Table,
        Arithmetic,
        QuantizeLinear,
        DynamicQuantizeLinear,
        *OPERATORS,
    ]
    proto, mapped = without_mapped(lowered.proto)
    machine: Any = ReferenceEvaluator(proto, new_ops=operators)
    machine.rt_inits_.update(mapped)
    return machine


def _of_model(lowered: Lowered, node: NodeProto) -> NodeProto:
    """Return a node of the model, where onnxruntime or a layer of products does it."""
    if node.domain != DOMAIN or node.op_type == TABLE:
        return node
    if node.op_type == "Fallback":
        return lowered.fallbacks[helper.get_node_attr_value(node, "index")].node
    if node.op_type == ARITHMETIC:
        return lowered.arithmetic[helper.get_node_attr_value(node, "index")].node
    return lowered.recurrent[node.name].node
