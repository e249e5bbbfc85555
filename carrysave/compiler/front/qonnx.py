"""Binary quantisers of QONNX, in operators of ONNX: products of their signs become integer ones."""

from collections.abc import Iterator
from itertools import chain
from math import prod

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

__all__ = ["without_bipolar_quant"]

_DOMAINS = ("qonnx.custom_op.general", "finn.custom_op.general", "onnx.brevitas")
_KIND = "BipolarQuant"
_PRODUCTS = {"MatMul": "MatMulInteger", "Conv": "ConvInteger"}


def without_bipolar_quant(proto: ModelProto) -> None:
    """Replace BipolarQuant, and float products of two of them, in place.

    BipolarQuant is 1 where its input is 0 or more, else -1, times a scale. MatMul and Conv of two
    of these are a product of codes of int8, times both scales, where these are one for each
    operand, and Conv has neither pads, which are 0, nor a bias; other operators take floats.
    """
    nodes = [node for node in proto.graph.node if _is_quantiser(node)]
    if nodes:
        rewriting = _Rewriting(proto, {node.output[0]: node for node in nodes})
        made = list(chain.from_iterable(map(rewriting.replaced, proto.graph.node)))
        del proto.graph.node[:]
        proto.graph.node.extend(made)
        proto.graph.initializer.extend(rewriting.constants)


def _is_quantiser(node: NodeProto) -> bool:
    return node.domain in _DOMAINS and node.op_type == _KIND and len(node.input) == 2


class _Rewriting:
    """A model, and its quantisers by their outputs."""

    def __init__(self, proto: ModelProto, quantisers: dict[str, NodeProto]) -> None:
        graph = proto.graph
        self.quantisers = quantisers
        self.shapes = {one.name: tuple(one.dims) for one in graph.initializer}
        self.names = {name for node in graph.node for name in (*node.input, *node.output)}
        self.names.update(self.shapes)
        taken = chain.from_iterable(n.input for n in graph.node if not self._is_product(n))
        self.floats = {*taken, *(one.name for one in graph.output)}
        self.zero, self.one, self.minus = (
            self._fresh(f"{_KIND}/{end}") for end in ("zero", "one", "minus")
        )
        self.constants = [
            numpy_helper.from_array(np.array(0, np.float32), self.zero),
            numpy_helper.from_array(np.array(1, np.int8), self.one),
            numpy_helper.from_array(np.array(-1, np.int8), self.minus),
        ]
        self.codes = {name: self._fresh(f"{name}/signs") for name in quantisers}

    def _fresh(self, name: str) -> str:
        while name in self.names:
            name += "'"
        self.names.add(name)
        return name

    def _is_product(self, node: NodeProto) -> bool:
        """Return whether a product of floats is one of signs."""
        if node.domain or node.op_type not in _PRODUCTS or len(node.input) != 2:
            return False
        makers = [self.quantisers.get(name) for name in node.input]
        if any(maker is None or not self._is_one(maker.input[1]) for maker in makers):
            return False
        attributes = {one.name: helper.get_attribute_value(one) for one in node.attribute}
        same = attributes.get("auto_pad", b"NOTSET") in (b"NOTSET", b"VALID")
        return same and not any(attributes.get("pads", ()))

    def _is_one(self, scale: str) -> bool:
        """Return whether a scale is one constant, which no product is of fewer axes than."""
        shape = self.shapes.get(scale, (0,))
        return len(shape) <= 2 and prod(shape) == 1

    def replaced(self, node: NodeProto) -> Iterator[NodeProto]:
        """Make the nodes that take the place of one."""
        if _is_quantiser(node):
            yield from self._signs(node)
        elif self._is_product(node):
            yield from self._product(node)
        else:
            yield node

    def _signs(self, node: NodeProto) -> Iterator[NodeProto]:
        (x, scale), (y,) = node.input, node.output
        least, codes = self._fresh(f"{y}/is"), self.codes[y]
        yield helper.make_node("GreaterOrEqual", [x, self.zero], [least], least)
        yield helper.make_node("Where", [least, self.one, self.minus], [codes], codes)
        if y in self.floats:
            yield from self._scaled(codes, scale, y)

    def _product(self, node: NodeProto) -> Iterator[NodeProto]:
        (y,) = node.output
        sums, scale = self._fresh(f"{y}/sums"), self._fresh(f"{y}/scale")
        codes = [self.codes[name] for name in node.input]
        made = helper.make_node(_PRODUCTS[node.op_type], codes, [sums], node.name)
        made.attribute.extend(node.attribute)
        yield made
        scales = [self.quantisers[name].input[1] for name in node.input]
        yield helper.make_node("Mul", scales, [scale], scale)
        yield from self._scaled(sums, scale, y)

    def _scaled(self, integers: str, scale: str, y: str) -> Iterator[NodeProto]:
        real = self._fresh(f"{y}/real")
        yield helper.make_node("Cast", [integers], [real], real, to=TensorProto.FLOAT)
        yield helper.make_node("Mul", [real, scale], [y], f"{y}/scaled")
