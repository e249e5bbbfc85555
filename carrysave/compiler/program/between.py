"""Operators between products: they move codes, look them up, or take the greatest."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from onnx import NodeProto

from carrysave.compiler.graph.arithmetic import ArithmeticNode
from carrysave.compiler.graph.arithmetic_rules import RULES
from carrysave.compiler.graph.code_table import TABLE, CodeTable
from carrysave.compiler.graph.code_types import limits
from carrysave.compiler.graph.kernels import Unsupported
from carrysave.compiler.lowered.heads import AttentionLayer
from carrysave.compiler.lowered.lowered import Lowered
from carrysave.compiler.lowered.recurrent import Recurrent
from carrysave.compiler.program.arithmetic import Emitter
from carrysave.compiler.program.attention import attention
from carrysave.compiler.program.chosen import gathered
from carrysave.compiler.program.copies import lay
from carrysave.compiler.program.dynamic import dynamic_codes
from carrysave.compiler.program.image import Image
from carrysave.compiler.program.look_ups import LookUp
from carrysave.compiler.program.looked import Looked, looked
from carrysave.compiler.program.moves import greatest, looked_up, padded, resized
from carrysave.compiler.program.reasons import DYNAMIC, GREATEST, STEPS, makes_floats, moves
from carrysave.compiler.program.recurrent import recurrent
from carrysave.compiler.program.top_k import finds_greatest, top_k
from carrysave.driver.system import Tensor

__all__ = ["Between"]

_FLOAT, _SUM = np.dtype(np.float32), np.dtype(np.int32)


@dataclass
class Between:
    """Does operators on codes that are in memory.

    Members
    -------
    image : where codes are, and steps go.
    lowered : the network.
    opset : version of the network's operators.
    constants : tensors that are known, by name.
    look_ups : tables behind others, by the codes that they alone read.
    tensors : where codes are, by name.
    """

    image: Image
    lowered: Lowered
    opset: int
    constants: dict[str, np.ndarray]
    look_ups: Mapping[str, LookUp] = field(default_factory=dict)
    tensors: dict[str, Tensor] = field(default_factory=dict)

    def run(self, node: Any) -> bool:
        """Do an operator; return whether it can be done."""
        proto: NodeProto = node.onnx_node
        if not any(name in self.tensors for name in proto.input):
            return False
        if not all(one in self.constants or one in self.tensors for one in proto.input if one):
            return False
        steps = len(self.image.steps)
        before = {name: self.tensors[name] for name in proto.input if name in self.tensors}
        try:
            made = self._made(node)
        except Unsupported:
            del self.image.steps[steps:]
            self.tensors |= before
            made = None
        if made is not None:
            self.tensors |= dict(zip(self._names(proto), made, strict=False))
        return made is not None

    def settle(self, names: Iterable[str]) -> None:
        """Look floats up that are codes until then."""
        for name in names:
            x = self.tensors.get(name)
            if isinstance(x, Looked):
                self.tensors[name] = Emitter(self.image, x.node, x.operator).decoded(x)

    def _names(self, node: NodeProto) -> Sequence[str]:
        """Return what is made by a node, and by the table behind it, if that is no step."""
        after = self.look_ups.get(node.output[0]) if node.op_type == TABLE else None
        return node.output if after is None else [after.output]

    def _made(self, node: Any) -> list[Tensor] | None:
        proto: NodeProto = node.onnx_node
        content = self.lowered.of(proto)
        if isinstance(content, ArithmeticNode):
            return self._arithmetic(proto, content)
        if isinstance(content, Recurrent):
            return self._recurrent(proto, content)
        if isinstance(content, AttentionLayer):
            given = tuple(self.tensors[name] for name in proto.input)
            return [attention(content, self.image, self._emitter(content.node), given)]
        if isinstance(content, CodeTable):
            made = self._table(proto, content)
            return None if made is None else [made]
        if proto.domain:
            return None
        ways = (STEPS, self._step), (DYNAMIC, self._dynamic), (GREATEST, self._greatest)
        for kinds, way in ways:
            if proto.op_type in kinds:
                return way(proto)
        if finds_greatest(proto, self.image.target):
            return top_k(self.image, proto, self.tensors, self.constants)
        if proto.op_type == "Gather" and proto.input[1] in self.tensors:
            return gathered(self.image, proto, self.tensors, self.constants)
        return self._moved(node) if moves(proto) else None

    def _arithmetic(self, node: NodeProto, content: ArithmeticNode) -> list[Tensor]:
        """Do an operator on floats."""
        known = [self.constants.get(name) for name in node.input]
        if node.output[0] not in self.lowered.graph.outputs:
            later = looked(content, [self.tensors.get(name) for name in node.input], known)
            if later is not None:
                return [later]
        self.settle(node.input)
        emitter = self._emitter(content.node)

        def taken(name: str) -> Callable[[], Any]:
            if name in self.tensors:
                return lambda: emitter.decoded(self.tensors[name])
            known = self.constants.get(name)
            if known is None or known.dtype != np.float32:
                return lambda: known
            return lambda: emitter.constant(known)

        return [content.on(emitter, _Given([taken(name) for name in node.input]), known)]

    def _recurrent(self, node: NodeProto, layer: Recurrent) -> list[Tensor]:
        """Do a recurrent layer."""
        names = (*node.input, "", "", "")[:4]
        if names[1]:
            raise Unsupported("all samples must have as many steps")
        emitter = self._emitter(layer.node)
        x = emitter.decoded(self.tensors[names[0]])
        hidden = layer.products[1].weights  # of which K is its size
        assert hidden is not None
        shape = len(layer.directions), x.sources.shape[1], len(hidden)
        states = []
        for name in names[2:]:
            if name in self.tensors:
                states.append(emitter.decoded(self.tensors[name]))
            else:
                zeros = np.zeros(shape, np.float32)
                states.append(emitter.constant(self.constants[name] if name else zeros))
        return recurrent(layer, self.image, emitter, x, (states[0], states[1]))

    def _dynamic(self, node: NodeProto) -> list[Tensor] | None:
        """Quantise floats by their range, or make floats of sums."""
        x = self.tensors[node.input[0]]
        emitter = self._emitter(node)
        if node.op_type == "DynamicQuantizeLinear":
            return dynamic_codes(emitter, emitter.decoded(x)).outputs(emitter)
        return [emitter.decoded(x)] if x.kind == _SUM and makes_floats(node) else None

    def _emitter(self, node: NodeProto) -> Emitter:
        return Emitter(self.image, node.name or node.output[0], node.op_type)

    def _step(self, node: NodeProto) -> list[Tensor] | None:
        """Remember what codes stand for, or take the same codes again."""
        x = self.tensors.get(node.input[0])
        scale, zero = (self.constants.get(name) for name in (*node.input[1:3], "")[:2])
        if x is None or scale is None or scale.size != 1 or (zero is not None and zero.size != 1):
            return None
        constants = float(scale.reshape(())), 0 if zero is None else int(zero.reshape(()))
        if node.op_type == "DequantizeLinear":
            return [replace(x, scale=constants)] if x.scale is None else None
        kind = np.dtype(np.uint8) if zero is None else zero.dtype
        if x.scale == constants and x.kind == kind:
            return [replace(x, scale=None)]
        floats = x.scale is not None or x.kind == _FLOAT or isinstance(x, Looked)
        if not floats or limits(kind) is None:
            return None
        return [self._emitter(node).encoded(x, *constants, kind)]

    def _moved(self, node: Any) -> list[Tensor] | None:
        """Move addresses as the operator moves codes."""
        proto: NodeProto = node.onnx_node
        data = proto.input if proto.op_type == "Concat" else proto.input[:1]
        if proto.op_type in ("Concat", "Pad"):
            self.settle(data)
        else:  # floats that depend on where codes are
            self.settle(name for name in data if not _alike(self.tensors.get(name)))
        given = [self.tensors.get(name) for name in data]
        first = next((one for one in given if one is not None), None)
        if first is None or any(name in self.tensors for name in proto.input[len(data) :]):
            return None
        if proto.op_type == "Shape":
            self.constants |= dict(zip(proto.output, node.run(first.sources), strict=True))
            return []
        there = [one for one in given if one is not None]
        if len(there) < len(given):
            return None
        if len({(one.kind, one.scale, one.offset) for one in there}) > 1:
            if any(one.scale is None and one.kind != _FLOAT for one in there):
                return None
            there = [self._emitter(proto).decoded(one) for one in there]
            first = there[0]
        others = [self.constants.get(name) for name in proto.input[len(data) :]]
        if proto.op_type in ("Resize", "Upsample"):
            return [replace(first, sources=resized(node, first.sources, others, self.opset))]
        if proto.op_type == "Pad":
            return padded(self.image, node, first, others)
        made = node.run(*(one.sources for one in there), *others)
        return [replace(first, sources=sources) for sources in made]

    def _table(self, node: NodeProto, table: CodeTable) -> Tensor | None:
        lay(self.image, (node.name, TABLE), self.tensors, node.input)
        given = [self.tensors.get(name) for name in node.input]
        if any(one is None or one.scale is not None for one in given):
            return None
        tensors = [one for one in given if one is not None]
        after = self.look_ups.get(node.output[0])
        behind = None if after is None else after.table
        return looked_up(self.image, (node.name, TABLE), table, tensors, behind)

    def _greatest(self, node: NodeProto) -> list[Tensor] | None:
        self.settle(node.input[:1])
        lay(self.image, (node.name, node.op_type), self.tensors, node.input[:1])
        x = self.tensors.get(node.input[0])
        if x is None or len(node.output) != 1:
            return None
        if x.kind == _FLOAT:
            return self._arithmetic(node, ArithmeticNode(node, 0, RULES[node.op_type]))
        return [greatest(self.image, node, x)]


def _alike(x: Tensor | None) -> bool:
    return not isinstance(x, Looked) or x.alike


class _Given(Sequence[Any]):
    """Inputs of a rule, each placed when it is taken."""

    def __init__(self, makers: list[Callable[[], Any]]) -> None:
        self._makers = makers

    def __len__(self) -> int:
        return len(self._makers)

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return [self[index] for index in range(*at.indices(len(self)))]
        return self._makers[at]()
