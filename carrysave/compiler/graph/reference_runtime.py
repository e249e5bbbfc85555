"""onnxruntime, the reference for a model's outputs."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from onnx import NodeProto, TensorProto, ValueInfoProto, helper

from carrysave.compiler.graph.code_types import limits
from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.graph.memory import limited
from carrysave.compiler.graph.tensors import BITS, whole
from hw.emit.user_files import shown

__all__ = ["Oracle", "one_node", "session"]

_FORMAT = 10
"""Version of the format of models that are made here."""


class Oracle:
    """Runs a model with onnxruntime, in its default configuration.

    Parameters
    ----------
    graph : the model.
    inside : names and types of internal tensors to return beside the outputs.
    """

    def __init__(self, graph: Graph, inside: "Mapping[str, np.dtype[Any]]") -> None:
        proto = whole(graph.proto)
        known = {one.name for one in proto.graph.output} | set(graph.inputs)
        made = {name for node in graph.nodes for name in node.output}
        names = [name for name in inside if name in made - known]
        self._outputs = [*graph.outputs, *names]
        self._kinds = {name: inside[name] for name in names}
        shown = list(self._outputs)
        for name, kind in self._kinds.items():
            number = helper.np_dtype_to_tensor_dtype(kind)
            # onnxruntime hands out none of the types that numpy has not by itself.
            if number not in BITS:
                number = TensorProto.INT8 if limits(kind) else TensorProto.FLOAT
                plain = graph.fresh(f"{name}/plain")
                proto.graph.node.append(helper.make_node("Cast", [name], [plain], to=number))
                shown[shown.index(name)] = plain
            value = helper.make_tensor_value_info(shown[len(proto.graph.output)], number, None)
            proto.graph.output.append(value)
        self._shown = shown
        self._session = session(proto.SerializeToString())

    def run(self, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return outputs and the internal tensors, by name."""
        outputs = dict(zip(self._outputs, self._session.run(self._shown, inputs), strict=True))
        return outputs | {name: outputs[name].astype(kind) for name, kind in self._kinds.items()}


class _Session:
    """A model, opened; its errors are ours, and it takes no more memory than it may."""

    def __init__(self, session: Any) -> None:
        self._session = session
        self.kinds: list[str] = [one.type for one in session.get_outputs()]
        """Types of outputs, as onnxruntime writes them."""

    def run(self, outputs: Sequence[str], inputs: Mapping[str, np.ndarray]) -> list[np.ndarray]:
        """Return outputs.

        Raises
        ------
        ValueError
            onnxruntime cannot run the model on these inputs, or not within the limit.
        """
        with limited("to run onnxruntime"):
            try:
                arrays: list[np.ndarray] = self._session.run(list(outputs), dict(inputs))
            except Exception as error:  # of a kind for each of its status codes
                raise _failure(error) from None
        return arrays


def one_node(
    node: NodeProto, kinds: "Mapping[str, tuple[np.dtype[Any], int]]", opsets: Mapping[str, int]
) -> bytes:
    """Return a model of one node, serialised.

    Parameters
    ----------
    kinds : types and axes of its inputs, by name.
    opsets : versions of operators, by domain.
    """
    inputs = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(kind), [None] * axes)
        for name, (kind, axes) in kinds.items()
    ]
    # Types of outputs are not known: onnxruntime finds them.
    outputs = [ValueInfoProto(name=name) for name in node.output if name]
    graph = helper.make_graph([node], "node", inputs, outputs)
    imports = [helper.make_opsetid(*one) for one in opsets.items()]
    model = helper.make_model(graph, opset_imports=imports, ir_version=_FORMAT)
    return bytes(model.SerializeToString())


def session(model: bytes, *, threads: int = 0, codes: bool = True) -> _Session:
    """Open a model in onnxruntime's default configuration.

    Its kernels of codes may saturate, see :mod:`carrysave.compiler.run.exact_product`. An option of
    onnxruntime's, ``session.x64quantprecision``, mends those of MatMulInteger alone, and breaks
    models with scales by column and no zero point.

    Parameters
    ----------
    model : serialised.
    threads : of an operator; 0: as onnxruntime has them.
    codes : products between quantisers become products of codes.

    Raises
    ------
    ValueError
        onnxruntime cannot run it.
    """
    import onnxruntime as ort  # slow to load

    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = threads
    if b"DynamicQuantizeLSTM" in model:
        # Threads would each quantise the samples that they have by a range of their own.
        options.intra_op_num_threads = 1
    # Weights in blocks times floats are products of floats, where the model says no more.
    options.add_session_config_entry("session.qdq_matmulnbits_accuracy_level", "1")
    if not codes:
        options.add_session_config_entry("session.disable_quant_qdq", "1")
    try:
        with limited("to open it by onnxruntime"):
            opened = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # of a kind for each of its status codes
        raise _failure(error) from None
    return _Session(opened)


def _failure(error: Exception) -> ValueError:
    if isinstance(error, MemoryError):
        raise error
    first = next(iter(str(error).splitlines()), type(error).__name__)
    return ValueError(f"onnxruntime cannot run the model: {shown(first, 600)}")
