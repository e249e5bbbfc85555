"""A model whose products are nodes of their own, for the block."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from onnx import ModelProto, NodeProto

from carrysave.compiler.graph.arithmetic import ARITHMETIC, ArithmeticNode
from carrysave.compiler.graph.bit_weights import MATMUL_N_BITS
from carrysave.compiler.graph.bnb4_weights import MATMUL_BNB4
from carrysave.compiler.graph.code_table import TABLE, CodeTable
from carrysave.compiler.graph.fallback import Fallback
from carrysave.compiler.graph.graph import DOMAIN, Graph
from carrysave.compiler.graph.host_attention import GROUP_QUERY, MULTI_HEAD
from carrysave.compiler.graph.kernels import FLOAT_PRODUCTS, attributes
from carrysave.compiler.lowered.layer import Layer
from carrysave.compiler.lowered.operands import Operands
from carrysave.compiler.lowered.recurrent import GRU, KIND, Recurrent

__all__ = ["FALLBACK", "PRODUCT", "RECURRENT", "Lowered"]

FALLBACK, PRODUCT, RECURRENT = "Fallback", "Product", "Recurrent"
"""Operators of :data:`DOMAIN`, beside tables and arithmetic."""

_LINEAR = "LinearAttention"
_IN_FLOATS = (
    "MatMul",
    "Gemm",
    "Conv",
    "ConvTranspose",
    "Einsum",
    "LSTM",
    "GRU",
    "RNN",
    "Attention",
    _LINEAR,
    "CausalConvWithState",
    MULTI_HEAD,
    GROUP_QUERY,
    MATMUL_N_BITS,
    MATMUL_BNB4,
)


@dataclass(frozen=True)
class Lowered:
    """A model with its products extracted.

    Members
    -------
    graph : the original model.
    proto : the same with nodes of :data:`DOMAIN`.
    products : the products of these nodes.
    recurrent : layers with several products, by the name of the node.
    fallbacks : nodes that onnxruntime runs.
    refused : products that the host runs, since the block cannot, with reasons.
    tables : of codes, in place of operators of the host.
    arithmetic : nodes that a processor beside the block does.
    """

    graph: Graph
    proto: ModelProto
    products: Sequence[Operands] = ()
    recurrent: Mapping[str, Layer] = field(default_factory=dict)
    fallbacks: Sequence[Fallback] = ()
    refused: Sequence[str] = ()
    tables: Sequence[CodeTable] = ()
    arithmetic: Sequence[ArithmeticNode] = ()

    @cached_property
    def now(self) -> Graph:
        """The model as it is now."""
        return self.graph if self.proto is self.graph.proto else Graph(self.proto)

    @cached_property
    def quantised_on_reading(self) -> dict[str, str]:
        """Operators of the recurrent layers that the model has in floats, by name of the node."""
        kinds = {KIND: "LSTM", GRU: "GRU"}
        return {
            name: kinds.get(layer.node.op_type, layer.node.op_type)
            for name, layer in self.recurrent.items()
            if isinstance(layer, Recurrent)
            for made in [next((one for one in layer.node.output if one), "")]
            if made not in self.graph.makers or self.graph.makers[made].op_type != KIND
        }

    @property
    def host(self) -> Mapping[str, int]:
        """How often each operator runs on the host, or on a processor beside the block."""
        nodes = self.proto.graph.node
        host = Counter(one.op_type for one in nodes if one.domain != DOMAIN or one.op_type == TABLE)
        host.update(one.node.op_type for one in self.arithmetic)
        return host

    def of(
        self, node: NodeProto
    ) -> Operands | Layer | Fallback | CodeTable | ArithmeticNode | None:
        """Return what a node of :data:`DOMAIN` stands for; None: it is the model's own."""
        if node.domain != DOMAIN:
            return None
        if node.op_type == RECURRENT:
            return self.recurrent[node.name]
        several: dict[str, Sequence[Any]] = {
            PRODUCT: self.products,
            FALLBACK: self.fallbacks,
            TABLE: self.tables,
            ARITHMETIC: self.arithmetic,
        }
        content: Operands | Fallback | CodeTable | ArithmeticNode
        content = several[node.op_type][attributes(node)["index"]]
        return content

    @property
    def floats(self) -> dict[str, int]:
        """Products that are not quantised, and run in floats on the host."""
        return {name: count for name, count in self.host.items() if name in _IN_FLOATS}

    @property
    def why_floats(self) -> str:
        """Why products with quantised weights are among them; empty if none are."""
        if MATMUL_N_BITS in self.host:
            return f"{MATMUL_N_BITS} has activations in floats, without accuracy_level=4"
        if MATMUL_BNB4 in self.host:
            return f"{MATMUL_BNB4} has blocks that share fewer than 16 codes along K"
        if _LINEAR in self.host:
            return f"{_LINEAR} is products in run alone, of codes, with rule linear or gated"
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
