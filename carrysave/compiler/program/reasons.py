"""Which nodes of a lowered network a program can have as steps, and why not the others."""

import numpy as np
from onnx import NodeProto, TensorProto

from carrysave.compiler.graph.arithmetic import ArithmeticNode
from carrysave.compiler.graph.code_table import CodeTable
from carrysave.compiler.graph.kernels import attributes
from carrysave.compiler.graph.names import label, quoted
from carrysave.compiler.graph.resize_rule import takes_nearest
from carrysave.compiler.lowered.chosen import ChosenProduct
from carrysave.compiler.lowered.engine_codes import terms_of
from carrysave.compiler.lowered.gate import GateProduct
from carrysave.compiler.lowered.heads import AttentionLayer
from carrysave.compiler.lowered.layer import Layer
from carrysave.compiler.lowered.lowered import Lowered
from carrysave.compiler.lowered.operands import Operands
from carrysave.compiler.lowered.quantised import QuantisedProduct
from carrysave.compiler.lowered.recurrent import Recurrent
from carrysave.compiler.program.chosen import why_not_chosen
from carrysave.compiler.program.top_k import finds_greatest
from carrysave.compiler.target.target import Target
from hw.emit.user_files import shown

__all__ = [
    "check_target",
    "DYNAMIC",
    "GREATEST",
    "MOVES",
    "between",
    "makes_floats",
    "NO_MAPS",
    "NO_OPERATOR",
    "NO_RULE",
    "NO_TABLE",
    "SHORT",
    "STEPS",
    "UNEVEN",
    "moves",
    "named",
    "not_a_job",
    "reason_of",
]

MOVES = (
    "Concat", "DepthToSpace", "Expand", "Flatten", "Gather", "Identity", "Pad", "Reshape", "Resize",
    "Shape", "Slice", "SpaceToDepth", "Split", "Squeeze", "Tile", "Transpose", "Unsqueeze",
    "Upsample",
)  # fmt: skip
"""Operators that move codes; those that resize do it if they take the nearest one."""
GREATEST = ("MaxPool", "GlobalMaxPool")
"""Those that take the greatest of codes."""
STEPS = ("DequantizeLinear", "QuantizeLinear")
"""Those between codes and what they stand for."""
_QUANTISER = "DynamicQuantizeLinear"
"""It makes codes of floats, whose step is found when it runs."""
_SUMS = np.dtype(np.int32)
DYNAMIC = ("Cast", _QUANTISER)
"""Those between floats, codes whose step is found when it runs, and their sums."""
NO_MAPS = "the co-processor has no jobs on maps: -p taps=3 or more, with a vector unit"
"""Why codes are moved, not computed by jobs; and other reasons."""
NO_TABLE = "the co-processor has no tables behind jobs: -p table=true"
NO_RULE = "it is no one sum, product or scale of codes, rounded once"
UNEVEN = "its codes do not lie in even rows"
SHORT = "jobs would be many, of few codes each"
NO_OPERATOR = "between products, the firmware has no such operator"


def between(lowered: Lowered, target: Target) -> list[str]:
    """Return why a program of a network would have host segments, before anything is computed."""
    codes: set[str] = set()
    sums: set[str] = set()
    # Sizes are known before a network runs, and so is what is made of them and of constants.
    sizes = {"", *lowered.now.constants}
    lost: dict[str, NodeProto] = {}
    reasons: dict[str, None] = {}
    for node in lowered.proto.graph.node:
        if node.op_type == "Shape" or (node.input and sizes.issuperset(node.input)):
            sizes.update(node.output)
            continue
        before = next((lost[name] for name in node.input if name in lost), None)
        content = lowered.of(node)
        if isinstance(content, Operands):
            reason = not_a_job(content, target)
            if before is not None:
                reasons[f"{named(lowered, before)}: {NO_OPERATOR}"] = None
                lost = {}
            if not reason:
                codes.update(node.output)
                sums.update(node.output if content.y_type == _SUMS else ())
                continue
            reasons[f"{named(lowered, node)}: {reason}"] = None
        elif isinstance(content, AttentionLayer) and before is None:
            codes.update(node.output)
            continue
        elif isinstance(content, Recurrent) and before is None:
            if len(node.input) > 1 and node.input[1]:
                reasons[f"{named(lowered, node)}: all samples must have as many steps"] = None
            else:
                codes.update(node.output)
            continue
        elif before is None and not codes.intersection(node.input):
            continue
        elif before is None and (
            (not node.domain and node.op_type in (*GREATEST, *STEPS, _QUANTISER))
            or (node.input[0] in sums and makes_floats(node))
            or moves(node)
            or finds_greatest(node, target)
            or isinstance(content, CodeTable | ArithmeticNode)
        ):
            codes.update(node.output)
            continue
        lost |= dict.fromkeys(node.output, node if before is None else before)
    return list(reasons)


def makes_floats(node: NodeProto) -> bool:
    """Return whether an operator makes floats of what it takes, such as sums."""
    to = attributes(node).get("to")
    return not node.domain and node.op_type == "Cast" and to == TensorProto.FLOAT


def moves(node: NodeProto) -> bool:
    """Return whether an operator moves codes, and makes no others."""
    resizes = node.op_type in ("Resize", "Upsample")
    return not node.domain and node.op_type in MOVES and (not resizes or takes_nearest(node))


def named(lowered: Lowered, node: NodeProto) -> str:
    """Say which node of the model it is."""
    content = lowered.of(node)
    if isinstance(content, Operands):
        return f"{shown(content.operator, 100)} {quoted(content.name)}"
    return label(content.node if isinstance(content, Layer | ArithmeticNode) else node)


def not_a_job(product: Operands, target: Target) -> str:
    """Return why a product is no job; empty if it is."""
    if isinstance(product, ChosenProduct):
        return why_not_chosen(target)
    if isinstance(product, QuantisedProduct) and product.scale is None and product.late:
        plain = product.weights is not None and not product.late[1] and not product.b
        if plain and product.a_type == np.uint8:
            assert product.weights is not None
            wide = terms_of(target, product.weights) > 1
            return "weights must be of one code of the engine each" if wide else ""
    if product.formats:
        return f"{product.formats} are rounded from floats, which run does, and no program"
    if not isinstance(product, QuantisedProduct) or product.scale is None or product.late:
        return "must have constant weights, and codes as results"
    if product.b and np.size(product.b_zero) != 1:
        return "must have one zero point of a B that is computed"
    if not isinstance(product, GateProduct) and not target.requantises(product.scale.size):
        return "must be requantised by the co-processor"
    return ""


def reason_of(lowered: Lowered, node: NodeProto, target: Target) -> str:
    """Say which node of the model it is, and why the host has it."""
    content, why = lowered.of(node), NO_OPERATOR
    if isinstance(content, Operands):
        why = not_a_job(content, target) or NO_OPERATOR
    elif isinstance(content, Layer):
        why = "the firmware has no such operator"
    return f"{named(lowered, node)}: {why}"


def check_target(target: Target) -> None:
    """Refuse a co-processor whose codes are not of int8, or whose blocks have zero points."""
    if target.zero_modes:
        text = "run takes engines with zeros=true product by product; programs have none of these"
        raise ValueError(text)
    for name, number in (("A", target.mode.a), ("B", target.mode.b), ("C", target.info.codes)):
        if (number.bits, number.low, number.high) != (8, -128, 127):
            text = f"{number.low}..{number.high}"
            raise ValueError(f"the co-processor must have {name} of int8, not {text}")
