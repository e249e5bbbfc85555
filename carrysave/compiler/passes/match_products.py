"""Products in a graph: quantised operators, and float operators between quantisers.

All kinds of products (Conv, Gemm, MatMul, ...) become one, of matrices: rows of patches, or codes,
times weights (:mod:`.product_of_codes`). :mod:`carrysave.compiler.program.products` makes its jobs.
"""

from onnx import NodeProto

from carrysave.compiler.graph.graph import MICROSOFT, Graph
from carrysave.compiler.graph.kernels import FLOAT_PRODUCTS, TRANSPOSED, Unsupported, attributes
from carrysave.compiler.lowered.gate import GATE
from carrysave.compiler.lowered.mean import MEAN
from carrysave.compiler.passes.experts import by_place
from carrysave.compiler.passes.match_between import match_between, match_gate, match_mean
from carrysave.compiler.passes.product_of_codes import Match, product_of_codes, with_codes
from carrysave.compiler.passes.quantised_tensor import (
    constant,
    integers,
    product_of_scales,
    quantised_tensor,
    row,
)

__all__ = ["INTEGER_PRODUCTS", "QUANTISED_PRODUCTS", "match"]

QUANTISED_PRODUCTS = (("", "QLinearMatMul"), ("", "QLinearConv"), (MICROSOFT, "QGemm"))
"""Those of codes with steps, of ONNX and of onnxruntime."""
INTEGER_PRODUCTS = (("", "MatMulInteger"), ("", "ConvInteger"))
"""Those of codes alone, whose sums are integers."""


def match(graph: Graph, node: NodeProto) -> Match | None:
    """Return the quantised product of a node; None if it is not one.

    Raises
    ------
    Unsupported
        A product of codes, but not one that can be compiled.
    """
    kind = (node.domain, node.op_type)
    if kind in QUANTISED_PRODUCTS:
        ends = (6, 7, 9) if node.op_type == "QGemm" else (8, 6, 8)
        a, b = (quantised_tensor(graph, node.input[at : at + 3]) for at in (0, 3))
        names = [name for name in node.input[ends[0] : ends[0] + 1] if name]
        bias = row(constant(graph, names[0], "bias")) if names else None
        product = product_of_codes(graph, node, a, b, bias)
        result = node.input[ends[1] : ends[2]]
        if not result or not result[0]:
            raise Unsupported("a result in floats is not supported")
        steps = product_of_scales(a, b, attributes(node).get("alpha", 1))
        y = quantised_tensor(graph, [node.output[0], *result])
        return Match(product=with_codes(product, steps, y), node=node)
    if kind in INTEGER_PRODUCTS:
        zeros = [*node.input[2:4], "", ""]
        a, b = (integers(graph, node.input[at], zeros[at]) for at in (0, 1))
        return Match(product=by_place(graph, product_of_codes(graph, node, a, b, None)), node=node)
    if kind in {("", name) for name in (*FLOAT_PRODUCTS, TRANSPOSED)}:
        return match_between(graph, node)
    if kind == ("", GATE):
        return match_gate(graph, node)
    return match_mean(graph, node) if kind == ("", MEAN) else None
