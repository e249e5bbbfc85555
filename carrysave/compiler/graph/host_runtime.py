"""One operator of the host in onnxruntime, whatever its version."""

import contextlib
import warnings
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from onnx import NodeProto, defs, helper
from onnx.reference import ReferenceEvaluator

from carrysave.compiler.graph.host_operators import EXACT, OPERATORS
from carrysave.compiler.graph.host_quantisers import QUANTISERS
from carrysave.compiler.graph.names import label
from carrysave.compiler.graph.reference_runtime import one_node, session
from carrysave.compiler.graph.tensors import BITS
from carrysave.errors import installed

__all__ = ["NoKernelError", "alone", "on_host", "run", "since"]

_SESSIONS = 512
"""Sessions that stay open; nodes that differ in names alone share one."""
_OLDEST = 7
"""The oldest set of operators that onnxruntime promises to run."""
_PLAIN = 21
"""The set beside operators of another domain, of which it has no nodes."""


_KINDS = frozenset(
    f"tensor({name})"
    for name in (
        "float",
        "double",
        "float16",
        "bool",
        *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
    )
)
"""Types of outputs, as onnxruntime writes them."""


_NUMBERS = frozenset(np.dtype(helper.tensor_dtype_to_np_dtype(kind)) for kind in BITS)
"""Types of inputs."""


class NoKernelError(ValueError):
    """onnxruntime has no such operator of these types."""


def since(name: str, version: int) -> int:
    """Return the version in which an operator of ONNX got its meaning in a set of operators.

    Raises
    ------
    ValueError
        There is none.
    """
    try:
        schema = defs.get_schema(name, version, "")
    except defs.SchemaError:
        raise ValueError("the host has no such operator") from None
    if schema.deprecated:
        raise ValueError(f"it is no operator of opset {version} any more")
    return int(schema.since_version)


def run(node: NodeProto, version: int, given: Sequence[Any]) -> list[Any]:
    """Run an operator of ONNX, or of onnxruntime.

    Parameters
    ----------
    node : of the model.
    version : of the operator, as :func:`since` returns it; onnxruntime's own have one.
    given : inputs; None: it is left out.

    Raises
    ------
    NoKernelError
        onnxruntime has none for these types.
    ValueError
        It cannot run on these inputs.
    """
    if any(one is not None and getattr(one, "dtype", None) not in _NUMBERS for one in given):
        raise NoKernelError("inputs must be tensors of numbers")
    kinds = tuple(None if one is None else (one.dtype.str, one.ndim) for one in given)
    unnamed = NodeProto(op_type=node.op_type, domain=node.domain)
    unnamed.attribute.extend(node.attribute)
    unnamed.input.extend("" if one is None else f"i{at}" for at, one in enumerate(given))
    unnamed.output.extend(f"o{at}" if name else "" for at, name in enumerate(node.output))
    inputs = {f"i{at}": np.asarray(one) for at, one in enumerate(given) if one is not None}
    names = [name for name in unnamed.output if name]
    opened = _opened(unnamed.SerializeToString(deterministic=True), version, kinds)
    made = dict(zip(names, opened.run(names, inputs), strict=True))
    return [made.get(name) for name in unnamed.output]


@lru_cache(maxsize=_SESSIONS)
def _opened(node: bytes, version: int, kinds: tuple[tuple[str, int] | None, ...]) -> Any:
    """Open a model of one node; on one thread, so that sums have one order."""
    parsed = NodeProto.FromString(node)
    inputs = {
        f"i{at}": (np.dtype(one[0]), one[1]) for at, one in enumerate(kinds) if one is not None
    }
    try:
        opsets = {parsed.domain: version} if parsed.domain else {}
        opsets[""] = _PLAIN if parsed.domain else max(version, _OLDEST)
        opened = session(one_node(parsed, inputs, opsets), threads=1)
    except ValueError as error:
        raise NoKernelError(str(error)) from None
    # onnxruntime hands out the bits of those that numpy has not.
    if not all(kind in _KINDS for kind in opened.kinds):
        raise NoKernelError(f"outputs must be tensors of numbers, not {', '.join(opened.kinds)}")
    return opened


def on_host(node: Any, given: Sequence[Any], opsets: Mapping[str, int]) -> Sequence[Any]:
    """Run an operator of the host: by onnxruntime, where that is there and has it.

    Quantisers and products of codes are computed here: exactly, on every processor.

    Parameters
    ----------
    node : of the evaluator.
    given : its inputs.
    opsets : versions of operators, by domain.

    Raises
    ------
    ValueError
        It cannot run on these inputs; names the node.
    """
    proto: NodeProto = node.onnx_node
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            if not proto.domain and proto.op_type not in EXACT and installed("onnxruntime"):
                with contextlib.suppress(NoKernelError):
                    return run(proto, since(proto.op_type, opsets[""]), given)
            made: Sequence[Any] = node.run(*given)
        except MemoryError:
            raise
        except Exception as error:  # any: as many as there are operators
            why = " ".join(str(error).split()) or type(error).__name__
            raise ValueError(f"{label(proto)}: cannot run on this: {why}") from None
    return made


def alone(node: NodeProto, given: Sequence[Any], opsets: Mapping[str, int]) -> Sequence[Any]:
    """Run a node of no evaluator; see :func:`on_host`."""
    graph = helper.make_graph([node], "node", [], [])
    imports = [helper.make_opsetid(*one) for one in opsets.items()]
    proto = helper.make_model(graph, opset_imports=imports, ir_version=8)
    machine: Any = ReferenceEvaluator(proto, new_ops=[*QUANTISERS, *OPERATORS])
    return on_host(machine.rt_nodes_[0], given, opsets)
