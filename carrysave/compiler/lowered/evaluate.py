"""Runs a lowered model: products by a callback, the rest by ONNX's reference evaluator."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from onnx import NodeProto
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

from carrysave.compiler.graph import host_quantisers
from carrysave.compiler.graph.arithmetic import ARITHMETIC, ArithmeticNode
from carrysave.compiler.graph.code_table import CodeTable
from carrysave.compiler.graph.graph import DOMAIN
from carrysave.compiler.graph.host_attention import ATTENTIONS
from carrysave.compiler.graph.host_operators import OPERATORS
from carrysave.compiler.graph.host_runtime import alone, on_host
from carrysave.compiler.graph.host_work import operations
from carrysave.compiler.graph.kernels import Unsupported
from carrysave.compiler.graph.memory import limited
from carrysave.compiler.graph.names import label
from carrysave.compiler.graph.node_sizes import check_outputs
from carrysave.compiler.graph.tensors import without_mapped
from carrysave.compiler.lowered.heads import AttentionLayer
from carrysave.compiler.lowered.lowered import PRODUCT, Lowered
from carrysave.compiler.lowered.operands import Operands

__all__ = ["Multiply", "Observe", "ProductError", "evaluate", "evaluator", "no_product", "of_model"]

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
        last_use = {name: at for at, node in enumerate(nodes) for name in node.input}
        last_use |= dict.fromkeys(lowered.graph.outputs, len(nodes))
        for at, node in enumerate(nodes):
            given = [values[name] for name in node.input]
            proto = node.onnx_node
            if proto.domain != DOMAIN or proto.op_type == ARITHMETIC:
                check_outputs(of_model(lowered, proto), given, machine.opsets)
            if proto.domain == DOMAIN:
                made = node.run(*given)
            else:
                made = on_host(node, given, machine.opsets)
            if host is not None and proto.op_type != PRODUCT:
                model_node = of_model(lowered, proto)
                of_jobs = isinstance(lowered.of(proto), AttentionLayer)
                kind = lowered.quantised_on_reading.get(proto.name, model_node.op_type)
                host[kind] += operations(proto if of_jobs else model_node, given, made)
                host[kind] += getattr(node, "between", 0)
            values |= {name: one for name, one in zip(node.output, made, strict=False) if name}
            for name in {*node.input, *node.output} - {""}:
                if last_use.get(name, at) <= at:
                    values.pop(name, None)
    return {name: values[name] for name in lowered.graph.outputs}


def no_product(product: Operands, a: np.ndarray, b: np.ndarray | None) -> np.ndarray:
    """Refuse to multiply: in a model that has no product, or whose products are jobs."""
    raise ValueError(f"{product.name}: a product of constants must be computed beforehand")


def evaluator(lowered: Lowered, multiply: Multiply, observe: Observe) -> Any:
    """Return ONNX's evaluator of a lowered model, with the arguments of :func:`evaluate`."""
    operators: list[type[OpRun]] = [
        *_multiplying(lowered, multiply, observe),
        *_by_number(lowered, observe),
        *_quantisers(observe),
        *OPERATORS,
        *ATTENTIONS,
    ]
    proto, mapped = without_mapped(lowered.proto)
    machine: Any = ReferenceEvaluator(proto, new_ops=operators)
    machine.rt_inits_.update(mapped)
    return machine


# Classes implement the operators of their names.


def _multiplying(lowered: Lowered, multiply: Multiply, observe: Observe) -> list[type[OpRun]]:
    """Return the operators that have products."""

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

        between: int
        """Numbers that the host makes for products, or reads of them, whichever are more."""

        def _multiplied(
            self, product: Operands, a: np.ndarray, b: np.ndarray | None = None
        ) -> np.ndarray:
            y = multiply(product, a, b)
            self.between += max(a.size + (0 if b is None else b.size), y.size)
            return y

        def _run(self, *given: Any) -> tuple[np.ndarray, ...]:
            layer = lowered.recurrent[self.onnx_node.name]
            self.between = 0
            try:
                results = layer.run(self._multiplied, *given)
            except ValueError as error:
                text = f"{label(layer.node)}: {error}"
                raise ProductError(self.onnx_node.name, text) from None
            return tuple(map(observe, self.onnx_node.output, results))

    return [Product, Recurrent]


def _by_number(lowered: Lowered, observe: Observe) -> list[type[OpRun]]:
    """Return the operators whose nodes have a number in a list of the model."""

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
            return (_arithmetic(lowered.arithmetic[index], given, lowered.proto.opset_import),)

    return [Fallback, Table, Arithmetic]


def _quantisers(observe: Observe) -> list[type[OpRun]]:
    """Return ONNX's quantisers, whose codes are observed."""

    class QuantizeLinear(host_quantisers.QuantizeLinear):
        def _run(self, *given: Any, **attributes: Any) -> tuple[np.ndarray]:
            (codes,) = super()._run(*given, **attributes)
            return (observe(self.onnx_node.output[0], codes),)

    class DynamicQuantizeLinear(host_quantisers.DynamicQuantizeLinear):
        def _run(self, x: np.ndarray) -> tuple[np.ndarray, ...]:
            names = self.onnx_node.output
            return tuple(map(observe, names, super()._run(x)))

    return [QuantizeLinear, DynamicQuantizeLinear]


def _arithmetic(one: ArithmeticNode, given: Sequence[Any], opsets: Any) -> np.ndarray:
    """Return what a processor makes of a node; or the host, where that cannot do it."""
    try:
        return one.run(given)
    except Unsupported:
        pass  # the host has it
    except ValueError as error:
        raise ValueError(f"{label(one.node)}: cannot run on this: {error}") from None
    return np.asarray(alone(one.node, given, {each.domain: each.version for each in opsets})[0])


def of_model(lowered: Lowered, node: NodeProto) -> NodeProto:
    """Return a node of the model, where onnxruntime or a layer of products does it."""
    stands_for = lowered.of(node)
    return (
        node
        if stands_for is None or isinstance(stands_for, Operands | CodeTable)
        else stands_for.node
    )
