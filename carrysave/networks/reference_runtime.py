"""onnxruntime, the reference for a model's outputs."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper

from hw.emit.user_files import shown

from .memory import limited
from .model import Graph

__all__ = ["Oracle", "session"]


class Oracle:
    """Runs a model with onnxruntime, in its default configuration.

    Parameters
    ----------
    graph : the model.
    inside : names and types of internal tensors to return beside the outputs.
    """

    def __init__(self, graph: Graph, inside: "Mapping[str, np.dtype[Any]]") -> None:
        proto = onnx.ModelProto()
        proto.CopyFrom(graph.proto)
        known = {one.name for one in proto.graph.output} | set(graph.inputs)
        made = {name for node in graph.nodes for name in node.output}
        names = [name for name in inside if name in made - known]
        for name in names:
            kind = helper.np_dtype_to_tensor_dtype(inside[name])
            proto.graph.output.append(helper.make_tensor_value_info(name, kind, None))
        self._session = session(proto.SerializeToString())
        self._outputs = [*graph.outputs, *names]

    def run(self, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return outputs and the internal tensors, by name."""
        return dict(zip(self._outputs, self._session.run(self._outputs, inputs), strict=True))


class _Session:
    """A model, opened; its errors are ours, and it takes no more memory than it may."""

    def __init__(self, session: Any) -> None:
        self._session = session

    def run(self, outputs: Sequence[str], inputs: Mapping[str, np.ndarray]) -> list[np.ndarray]:
        """Return outputs.

        Raises
        ------
        ValueError
            onnxruntime cannot run the model on these inputs, or not within the limit.
        """
        with limited("to run onnxruntime"):
            try:
                found: list[np.ndarray] = self._session.run(list(outputs), dict(inputs))
            except Exception as error:  # of a kind for each of its status codes
                raise _failure(error) from None
        return found


def session(model: bytes) -> _Session:
    """Open a model: with exact integer sums, where onnxruntime has them for this model.

    Otherwise, kernels for AVX2 (those for VNNI do not) saturate sums of two products to 16 bits.

    Raises
    ------
    ValueError
        onnxruntime cannot run it.
    """
    import onnxruntime as ort  # slow to load

    failures = []
    for precision in ("1", "0"):
        options = ort.SessionOptions()
        options.log_severity_level = 4
        options.add_session_config_entry("session.x64quantprecision", precision)
        try:
            with limited("to open it by onnxruntime"):
                found = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
            return _Session(found)
        except Exception as error:  # of a kind for each of its status codes
            failures.append(error)
    raise _failure(failures[-1])


def _failure(error: Exception) -> ValueError:
    if isinstance(error, MemoryError):
        raise error
    first = next(iter(str(error).splitlines()), type(error).__name__)
    return ValueError(f"onnxruntime cannot run the model: {shown(first, 600)}")
