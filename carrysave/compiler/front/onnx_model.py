"""What a model must be before anything is made of it; nothing in its file is trusted."""

from collections import Counter
from collections.abc import Iterable
from functools import partial
from pathlib import Path

import onnx
from google.protobuf.message import DecodeError
from onnx import GraphProto, ModelProto, NodeProto, TypeProto, ValueInfoProto

from carrysave.compiler.front.exported import SUFFIX, converted
from carrysave.compiler.front.qonnx import without_bipolar_quant
from carrysave.compiler.front.sparse_tensors import with_dense_tensors
from carrysave.compiler.graph.graph import DOMAIN, Graph
from carrysave.compiler.graph.memory import check_size, limited
from carrysave.compiler.graph.names import label, quoted, within_file
from carrysave.compiler.graph.tensors import BITS, check_tensor, fill, named, outline, tensors
from hw.emit import tools
from hw.emit.naming import naming
from hw.emit.user_files import TENSORS, FileError, parsing, read, shown

__all__ = ["load", "read_model"]

_LEAST = 7
"""Oldest version of the operators: those before broadcast in another way."""


_LONGEST = 1000
"""Characters of a name."""


def read_model(path: Path, *, subgraphs: bool = False, mapped: bool = True) -> ModelProto:
    """Read a model and the files of its tensors, and check it.

    Names of nodes become unique, ONNX's own operators get the domain "", and binary quantisers of
    QONNX become such operators.

    Parameters
    ----------
    path : file.
    subgraphs : nodes may have them.
    mapped : large constants stay in their files, see :func:`carrysave.compiler.graph.tensors.fill`.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    FileError
        If it is no ONNX model, or not one that can run; names node or tensor.
    """
    data = read(path, TENSORS)
    with limited(f"to read {shown(path.name)}"):
        try:
            proto = ModelProto.FromString(data)
        except (DecodeError, UnicodeDecodeError):
            raise FileError(path, "no valid ONNX model: it cannot be read") from None
        with within_file(path):
            _check_names(proto)
            _normalise(proto)
            with_dense_tensors(path, proto)
            without_bipolar_quant(proto)
            # The first ones are initialisers.
            large = len(proto.graph.initializer) if mapped else 0
            for number, (where, tensor) in enumerate(tensors(proto, subgraphs=subgraphs)):
                fill(path, where, tensor, mapped=number < large)
                check_tensor(where, tensor)
            _check_graph(proto)
            plain = outline(proto)
            # ONNX's check asks for shapes of outputs, which only the inputs may decide.
            known = [one for one in plain.graph.output if one.type.tensor_type.HasField("shape")]
            del plain.graph.output[:]
            plain.graph.output.extend(known)
        # ONNX's own rules: the order of nodes, their attributes, types and shapes.
        with parsing(path, "no valid ONNX model"):
            onnx.checker.check_model(plain, full_check=True)
            # Not with values of constants: it would make those of a Range, whatever its length.
            inferred = onnx.shape_inference.infer_shapes(plain, strict_mode=True)
        with within_file(path):
            _check_sizes(inferred.graph)
    return proto


def _check_sizes(graph: GraphProto) -> None:
    """Refuse tensors that are too large whatever the inputs are."""
    makers = {name: node for node in graph.node for name in node.output}
    for one in (*graph.value_info, *graph.input, *graph.output):
        kind = one.type.tensor_type
        bits = BITS.get(kind.elem_type, 8)
        # Open sizes count as 1.
        sizes = [size.dim_value if size.HasField("dim_value") else 1 for size in kind.shape.dim]
        shape = [1 if size == -1 else size for size in sizes]
        check_size(partial(_tensor, makers.get(one.name), one.name), shape, bits)


def _tensor(maker: NodeProto | None, name: str) -> str:
    """Say which tensor it is, and which node makes it."""
    return f"{label(maker)}: tensor {quoted(name)}" if maker else f"tensor {quoted(name)}"


def _check_names(proto: ModelProto) -> None:
    """Refuse names that no message could hold, and such as are no text."""
    graph = proto.graph
    sparse = (one.values for one in graph.sparse_initializer)
    values = (*graph.input, *graph.output, *graph.initializer, *sparse, *graph.value_info)
    names: set[str | bytes] = {one.name for one in values}
    for one in (*graph.input, *graph.output):
        names.update(size.dim_param for size in one.type.tensor_type.shape.dim)
    for node in graph.node:
        names.update((node.name, node.op_type, node.domain, *node.input, *node.output))
        names.update(attribute.name for attribute in node.attribute)
    names.update(one.domain for one in proto.opset_import)
    # What is no UTF-8 comes as bytes.
    wrong = [name for name in names if isinstance(name, bytes)]
    wrong += [
        text
        for one in proto.metadata_props
        for text in (one.key, one.value)
        if isinstance(text, bytes)
    ]
    if wrong:
        raise ValueError(f"names must be UTF-8, not {min(wrong)[:40]!r}")
    longest = max(names, key=len, default="")
    if len(longest) > _LONGEST:
        raise ValueError(f"names must have at most {_LONGEST} characters, not {len(longest)}")


def _normalise(proto: ModelProto) -> None:
    """Give ONNX's own operators one domain, and each node a name of its own."""
    for one in (*proto.opset_import, *proto.graph.node):
        if one.domain == "ai.onnx":
            one.domain = ""
    # Some exporters write an import twice.
    imports = {(one.domain, one.version): one for one in reversed(proto.opset_import)}
    if len(imports) < len(proto.opset_import):
        opsets = [onnx.helper.make_opsetid(*one) for one in reversed(imports)]
        del proto.opset_import[:]
        proto.opset_import.extend(opsets)
    used: set[str] = set()
    for number, node in enumerate(proto.graph.node):
        name = node.name or next(iter(node.output), "")
        if name in used:
            name = next(
                new for more in range(number + 2) if (new := f"{name} ({more + 2})") not in used
            )
            node.name = name
        used.add(name)


def _check_graph(proto: ModelProto) -> None:
    """Refuse what no part of the flow can run."""
    graph = proto.graph
    if proto.functions:
        raise ValueError("functions are not supported; onnx.inliner replaces them")
    _check_versions(proto)
    for node in graph.node:
        _check_node(node)
    if not graph.output:
        raise ValueError("the graph must have an output")
    given = {one.name for one in graph.initializer}
    inputs = [one for one in graph.input if one.name not in given]
    if not inputs:
        raise ValueError("the graph must have an input")
    for what, values in (("input", inputs), ("output", graph.output)):
        for one in values:
            _check_value(what, one)
    for what, names in (
        ("inputs", (one.name for one in graph.input)),
        ("outputs", (one.name for one in graph.output)),
        ("initialisers", (one.name for one in graph.initializer)),
    ):
        _check_once(what, names)


def _check_versions(proto: ModelProto) -> None:
    """Refuse versions of operators that onnx does not know."""
    versions: dict[str, int] = {}
    for one in proto.opset_import:
        if versions.setdefault(one.domain, one.version) != one.version:
            text = f"{versions[one.domain]} and {one.version}"
            raise ValueError(f"opset {quoted(one.domain)} must have one version, not {text}")
    if "" not in versions:
        raise ValueError("opset imports must have that of ONNX")
    newest = onnx.defs.onnx_opset_version()
    if not _LEAST <= versions[""] <= newest:
        raise ValueError(f"opset must be {_LEAST}..{newest}, not {versions['']}")


def _check_node(node: NodeProto) -> None:
    if node.domain == DOMAIN:
        raise ValueError(f"{label(node)}: operators of domain {node.domain!r} are not supported")
    if not any(node.output):
        raise ValueError(f"{label(node)}: must have an output")
    _check_once(f"{label(node)}: attributes", (one.name for one in node.attribute))


def _check_value(what: str, one: ValueInfoProto) -> None:
    """Refuse inputs and outputs that are no tensors of numpy's numbers."""
    where = f"{what} {quoted(one.name)}"
    kind: TypeProto = one.type
    if kind.WhichOneof("value") != "tensor_type":
        raise ValueError(f"{where} must be a tensor, not {kind.WhichOneof('value')}")
    if kind.tensor_type.elem_type not in BITS:
        raise ValueError(f"{where} must be of numbers, not of {named(kind.tensor_type.elem_type)}")
    # Some exporters write -1 for sizes that are open.
    if any(size.dim_value < -1 for size in kind.tensor_type.shape.dim):
        raise ValueError(f"{where}: sizes must be 0 or more, or -1: open")


def _check_once(what: str, names: Iterable[str]) -> None:
    for name, count in Counter(names).items():
        if count > 1:
            raise ValueError(f"{what} must have names of their own; {count} have {quoted(name)}")


def load(path: Path, *, subgraphs: bool = False) -> Graph:
    """Read a model, as :func:`read_model` does.

    Programs of torch.export, ``.pt2``, become ONNX models first, see
    :func:`carrysave.compiler.front.exported.converted`.
    """
    if path.suffix != SUFFIX:
        return Graph(read_model(path, subgraphs=subgraphs))
    with tools.workplace() as folder:
        onnx_path = converted(path, folder)
        with naming({str(onnx_path): shown(str(path), 600)}):
            return Graph(read_model(onnx_path, subgraphs=subgraphs, mapped=False))
