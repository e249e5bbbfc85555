"""Operators between products: they move codes, look them up, or take the greatest."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from onnx import NodeProto

from carrysave.compiler.graph.code_table import TABLE, CodeTable
from carrysave.compiler.graph.code_types import limits
from carrysave.compiler.graph.graph import DOMAIN
from carrysave.compiler.lowered import golden
from carrysave.compiler.lowered.gate import GateProduct
from carrysave.compiler.program.image import Image
from carrysave.compiler.program.moves import codes_of_bytes, greatest, looked_up
from carrysave.compiler.program.reasons import GREATEST, MOVES, STEPS
from carrysave.driver.system import Tensor

__all__ = ["Between", "gate"]


@dataclass
class Between:
    """Does operators on codes that are in memory.

    Members
    -------
    image : where codes are, and steps go.
    tables : of the network.
    constants : tensors that are known, by name.
    tensors : where codes are, by name.
    """

    image: Image
    tables: Sequence[CodeTable]
    constants: dict[str, np.ndarray]
    tensors: dict[str, Tensor] = field(default_factory=dict)

    def run(self, node: Any) -> bool:
        """Do an operator; return whether it can be done."""
        own: NodeProto = node.onnx_node
        if not any(name in self.tensors for name in own.input):
            return False
        if any(name not in self.constants and name not in self.tensors
               for name in own.input if name):  # fmt: skip
            return False
        if own.domain == DOMAIN and own.op_type == TABLE:
            made: list[Tensor] | None = self._table(own, self.tables[own.attribute[0].i])
        elif own.domain:
            made = None
        elif own.op_type in STEPS:
            made = self._step(own)
        elif own.op_type in GREATEST:
            made = self._greatest(own)
        elif own.op_type in MOVES:
            made = self._moved(node)
        else:
            made = None
        if made is None:
            return False
        self.tensors |= dict(zip(own.output, made, strict=False))
        return True

    def _step(self, node: NodeProto) -> list[Tensor] | None:
        """Remember what codes stand for, or take the same codes again."""
        x = self.tensors.get(node.input[0])
        scale, zero = (self.constants.get(name) for name in (*node.input[1:3], "")[:2])
        if x is None or scale is None or scale.size != 1 or (zero is not None and zero.size != 1):
            return None
        found = float(scale.reshape(())), 0 if zero is None else int(zero.reshape(()))
        if node.op_type == "DequantizeLinear":
            return [replace(x, scale=found)] if x.scale is None else None
        kind = np.dtype(np.uint8) if zero is None else zero.dtype
        same = x.scale == found and x.kind == kind
        return [replace(x, scale=None)] if same else None

    def _moved(self, node: Any) -> list[Tensor] | None:
        """Move addresses as the operator moves codes."""
        own: NodeProto = node.onnx_node
        data = own.input if own.op_type == "Concat" else own.input[:1]
        given = [self.tensors.get(name) for name in data]
        first = next((one for one in given if one is not None), None)
        if first is None or any(name in self.tensors for name in own.input[len(data) :]):
            return None
        if own.op_type == "Shape":
            self.constants |= dict(zip(own.output, node.run(first.sources), strict=True))
            return []
        if any(one is None or (one.kind, one.scale, one.offset)
               != (first.kind, first.scale, first.offset) for one in given):  # fmt: skip
            return None
        operands: list[Any] = [one.sources for one in given if one is not None]
        operands += [self.constants.get(name) for name in own.input[len(data) :]]
        return [replace(first, sources=made) for made in node.run(*operands)]

    def _table(self, node: NodeProto, table: CodeTable) -> list[Tensor] | None:
        given = [self.tensors.get(name) for name in node.input]
        if any(one is None or one.scale is not None for one in given):
            return None
        tensors = [one for one in given if one is not None]
        shape = np.broadcast_shapes(*(one.sources.shape for one in tensors), (1,) * table.axes)
        kind = table.values.dtype
        values = table.values.astype(np.int64)
        codes = [
            codes_of_bytes(*one) for one in zip(tensors, table.lows, values.shape, strict=True)
        ]
        made = looked_up(
            self.image, (node.name, TABLE), tensors, shape, values[np.ix_(*codes)], kind
        )
        return [made]

    def _greatest(self, node: NodeProto) -> list[Tensor] | None:
        x = self.tensors.get(node.input[0])
        return None if x is None or len(node.output) != 1 else [greatest(self.image, node, x)]


def gate(image: Image, product: GateProduct, a: Tensor, b: Tensor) -> Tensor:
    """Look the product of a code and its channel's number up: all of them, by golden."""
    low, high = limits(a.kind) or (0, 0)
    least, most = limits(b.kind) or (0, 0)
    codes, gates = np.arange(low, high + 1), np.arange(least, most + 1)
    x = np.broadcast_to(codes.astype(a.kind), (1, gates.size, codes.size))
    target = image.target
    compiled = product.compile(target, x, gates.astype(b.kind)[None, :, None], True)
    values = golden.product(target.spec, compiled)[0].T.astype(np.int64)
    index = np.ix_(codes_of_bytes(a, low, codes.size), codes_of_bytes(b, least, gates.size))
    shape = np.broadcast_shapes(a.sources.shape, b.sources.shape)
    return looked_up(
        image, (product.name, product.operator), [a, b], shape, values[index], product.y_type
    )  # fmt: skip
