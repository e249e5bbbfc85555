"""What a program has for the host, as one ONNX model, in which its sections are nodes."""

from itertools import takewhile

import numpy as np
from onnx import ModelProto, NodeProto, helper, numpy_helper

from carrysave.compiler.graph.graph import DOMAIN
from carrysave.compiler.program.program import Program
from carrysave.compiler.program.steps import HostStep

__all__ = ["SECTION", "host_model", "lacking"]

SECTION = "Section"
"""Operator that stands for a section of the program: from what is brought to what is taken."""


def lacking(program: Program) -> list[str]:
    """Return the operators of the host that are no ONNX, and that a file cannot have."""
    return list(
        dict.fromkeys(
            f"{node.op_type} {node.name or next(iter(node.output), '')!r}"
            for part in program.parts
            if isinstance(part, HostStep)
            for node in part.nodes
            if node.domain == DOMAIN
        )
    )


def host_model(program: Program) -> ModelProto | None:
    """Return the model; None: the program has none, or operators that no file can have."""
    lowered = program.lowered
    if lowered is None or lacking(program):
        return None
    host = [part for part in program.parts if isinstance(part, HostStep)]
    made = {name for part in host for node in part.nodes for name in node.output}
    proto = lowered.proto
    taken = [one.name for one in proto.graph.output if one.name not in made]
    nodes: list[NodeProto] = []
    known: set[str] = set()
    for number, part in enumerate(program.parts):
        if isinstance(part, HostStep):
            nodes += part.nodes
            continue
        rest = program.parts[number + 1 :]
        behind = [*takewhile(lambda one: isinstance(one, HostStep), rest)]
        # What is read before the next section, or at the end.
        reads = [name for one in behind if isinstance(one, HostStep) for name in one.reads]
        reads += taken if len(behind) == len(rest) else []
        outputs = [name for name in dict.fromkeys(reads) if name not in known]
        known.update(outputs)
        before = [one for one in program.parts[:number] if isinstance(one, HostStep)]
        inputs = [name for one in before for name in one.writes] or list(program.inputs)
        nodes.append(helper.make_node(
            SECTION, list(dict.fromkeys(inputs)), outputs, name=f"section {number}", domain=DOMAIN
        ))  # fmt: skip
    used = {name for node in nodes for name in node.input}
    constants = [
        numpy_helper.from_array(np.asarray(values), name)
        for name, values in program.constants.items()
        if name in used
    ]
    inputs_ = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(kind), shape)
        for name, (kind, shape) in program.takes.items()
    ]
    graph = helper.make_graph(nodes, "host", inputs_, list(proto.graph.output), constants)
    opsets = {one.domain: one.version for one in proto.opset_import} | {DOMAIN: 1}
    return helper.make_model(
        graph,
        ir_version=proto.ir_version,
        opset_imports=[helper.make_opsetid(*one) for one in opsets.items()],
    )
