"""A model whose products are nodes of their own, for the block."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from onnx import ModelProto

from carrysave.compiler.graph.arithmetic import ArithmeticNode
from carrysave.compiler.graph.bit_weights import MATMUL_N_BITS
from carrysave.compiler.graph.code_table import CodeTable
from carrysave.compiler.graph.fallback import Fallback
from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.graph.kernels import FLOAT_PRODUCTS
from carrysave.compiler.lowered.operands import Operands
from carrysave.compiler.lowered.recurrent import Recurrent

__all__ = ["Lowered"]

_IN_FLOATS = (
    "MatMul",
    "Gemm",
    "Conv",
    "ConvTranspose",
    "Einsum",
    "LSTM",
    "GRU",
    "RNN",
    MATMUL_N_BITS,
)


@dataclass(frozen=True)
class Lowered:
    """A model with its products extracted.

    Members
    -------
    graph : the original model.
    proto : the same with nodes of :data:`DOMAIN`.
    products : the products of these nodes.
    host : how often each operator runs on the host.
    recurrent : layers with several products, by the name of the node.
    fallbacks : nodes that onnxruntime runs.
    refused : products that the host runs, since the block cannot, with reasons.
    tables : of codes, in place of operators of the host.
    arithmetic : nodes that a processor beside the block does.
    """

    graph: Graph
    proto: ModelProto
    products: list[Operands]
    host: Mapping[str, int]
    recurrent: Mapping[str, Recurrent] = field(default_factory=dict)
    fallbacks: Sequence[Fallback] = ()
    refused: Sequence[str] = ()
    tables: Sequence[CodeTable] = ()
    arithmetic: Sequence[ArithmeticNode] = ()

    @cached_property
    def now(self) -> Graph:
        """The model as it is now."""
        return self.graph if self.proto is self.graph.proto else Graph(self.proto)

    @property
    def floats(self) -> dict[str, int]:
        """Products that are not quantised, and run in floats on the host."""
        return {name: count for name, count in self.host.items() if name in _IN_FLOATS}

    @property
    def why_floats(self) -> str:
        """Why products with quantised weights are among them; empty if none are."""
        if MATMUL_N_BITS in self.host:
            return f"{MATMUL_N_BITS} has activations in floats, without accuracy_level=4"
        read = {
            name
            for node in self.proto.graph.node
            for name in node.input[1:2]
            if not node.domain and node.op_type in FLOAT_PRODUCTS
        }
        for node in self.proto.graph.node:
            if node.op_type == "DequantizeLinear" and read.intersection(node.output):
                return "weights are dequantised, and its activations are floats, or of small floats"
        return ""
