"""Every operator of ONNX in every version: ONNX's own cases, in the words of older versions."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import ModelProto, NodeProto, TensorProto, defs, helper, numpy_helper
from onnx.backend.test.case.node import collect_testcases
from onnx.helper import make_tensor_value_info

from carrysave.compiler.graph import host_runtime

OLDEST = 7
DRAWN = {
    "Bernoulli",
    "Multinomial",
    "RandomNormal",
    "RandomNormalLike",
    "RandomUniform",
    "RandomUniformLike",
}
"""Operators of random numbers: results have shapes and types alone in common."""
WITH_GRAPHS = {"If", "Loop", "Scan", "SequenceMap"}
Case = tuple[NodeProto, int, list[Any]]
"""A node, the version of its operator, its inputs."""


def versions() -> list[tuple[str, int]]:
    """List operators and the versions in which a model can have them; none with subgraphs."""
    found: dict[str, set[int]] = defaultdict(set)
    for schema in defs.get_all_schemas_with_history():
        if not schema.domain and not schema.deprecated and schema.name not in WITH_GRAPHS:
            found[schema.name].add(schema.since_version)
    every = []
    for name, numbers in sorted(found.items()):
        ends = [*sorted(numbers)[1:], defs.onnx_opset_version() + 1]
        every += [
            (name, one) for one, end in zip(sorted(numbers), ends, strict=True) if end > OLDEST
        ]
    return every


def value_of(given: Any) -> Any:
    """Return an input or output of a case of ONNX's."""
    if isinstance(given, TensorProto):
        return numpy_helper.to_array(given)
    return np.asarray(given) if isinstance(given, np.generic) else given


def cases() -> dict[str, list[Case]]:
    """Return ONNX's cases of one node, by operator, and those that it has not."""
    found: dict[str, list[Case]] = defaultdict(list)
    for case in collect_testcases(None):
        assert case.model is not None
        graph = case.model.graph
        if len(graph.node) != 1 or graph.node[0].domain or graph.initializer:
            continue
        version = next(one.version for one in case.model.opset_import if not one.domain)
        for given, _ in case.data_sets or ():
            names = [one.name for one in graph.input]
            values = dict(zip(names, map(value_of, given), strict=True))
            node = graph.node[0]
            found[node.op_type].append((node, version, [values.get(one) for one in node.input]))
    for node, version, given in _more():
        found[node.op_type].append((node, version, given))
    return found


def _more() -> Iterator[Case]:
    """Make cases that ONNX has not."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(2, 3, 9, 8)).astype(np.float32)
    regions = np.array([[0, 1, 2, 6, 7], [1, 0, 0, 5, 4]], np.float32)
    ends = [np.array([], np.float32), np.array([1, 1, 2, 2], np.float32)]
    few = np.arange(4, dtype=np.float32)
    low = np.log(np.array([[0.2, 0.8], [0.5, 0.5]], np.float32))
    rows: tuple[tuple[str, int, list[Any], dict[str, Any]], ...] = (
        ("GlobalLpPool", 22, [x], {}),
        ("GlobalLpPool", 22, [x], {"p": 3}),
        ("MaxRoiPool", 22, [x, regions], {"pooled_shape": [2, 3], "spatial_scale": 0.5}),
        ("MeanVarianceNormalization", 13, [x], {}),
        ("MeanVarianceNormalization", 13, [x], {"axes": [2, 3]}),
        ("Pad", 25, [x, np.array([0, 0, 1, 2, 0, 0, 3, 1])], {"mode": "reflect"}),
        ("Pad", 25, [x, np.array([0, 0, -1, 2, 0, 0, 3, -1])], {"mode": "constant"}),
        ("Pad", 25, [x, np.array([0, 0, 1, 2, 0, 0, 3, 1])], {"mode": "edge"}),
        ("Resize", 10, [x, ends[1]], {"mode": "nearest"}),
        ("Resize", 10, [x, ends[1]], {"mode": "linear"}),
        ("Resize", 19, [x, *ends], {"mode": "linear"}),
        ("Resize", 19, [x, *ends], {"mode": "nearest"}),
        ("GatherElements", 13, [x[0, 0], np.array([[1, 0], [2, 1]])], {"axis": 0}),
        ("Range", 27, [few[0], few[3], few[1]], {}),
        ("RandomNormal", 22, [], {"shape": [2, 3]}),
        ("RandomNormalLike", 22, [x], {}),
        ("RandomUniform", 22, [], {"shape": [2, 3]}),
        ("RandomUniformLike", 22, [x], {}),
        ("Multinomial", 22, [low], {"sample_size": 4}),
        ("Bernoulli", 22, [abs(x).clip(0, 1)], {}),
        *(
            ("BatchNormalization", 15, [x, *rng.uniform(0.5, 2, (4, 3)).astype(np.float32)], values)
            for values in ({}, {"epsilon": 0.1}, {"momentum": 0.5})
        ),
        *(
            (kind, 13, [x], {"axis": axis})
            for axis in (0, 1, 2, -1)
            for kind in ("Softmax", "LogSoftmax", "Hardmax")
        ),
    )
    for kind, version, given, attributes in rows:
        names = [f"i{at}" for at in range(len(given))]
        node = helper.make_node(kind, names, ["y"], **attributes)
        yield node, version, [np.asarray(one) for one in given]


def older(case: Case, since: int) -> Case | None:
    """Say a case in the words of another version; None: it has not all of them.

    What an older version has as an attribute becomes one, and an attribute that it has not is
    left out where it has its default.
    """
    node, version, given = case
    now, then = (defs.get_schema(node.op_type, one, "") for one in (version, since))
    names = [one.name for one in then.inputs]
    own = NodeProto(op_type=node.op_type, output=node.output)
    own.attribute.extend(node.attribute)
    values: list[Any] = []
    for at, value in enumerate(given):
        what = now.inputs[min(at, len(now.inputs) - 1)].name
        attribute = "k" if what == "K" else what
        if what not in names and attribute in then.attributes:
            numbers = [] if value is None else np.asarray(value).reshape(-1).tolist()
            kind = str(then.attributes[attribute].type)
            if numbers:
                text = numbers if kind.endswith("S") else numbers[0]
                own.attribute.append(helper.make_attribute(attribute, text))
        else:
            values.append(value)
    own.input.extend("" if one is None else f"i{at}" for at, one in enumerate(values))
    kept = [
        one
        for one in own.attribute
        if one.name in then.attributes or now.attributes[one.name].default_value != one
    ]
    del own.attribute[:]
    own.attribute.extend(kept)
    if own.op_type == "Dropout" and any(np.size(one) == 1 and one.all() for one in values[2:]):
        return None  # in training, it draws
    made = own, since, values
    return made if _legal(made) else None


def model_of(case: Case) -> ModelProto | None:
    """Make a model of a case; None: an input is no tensor."""
    node, since, given = case
    if not all(one is None or isinstance(one, np.ndarray) for one in given):
        return None
    inputs = [
        make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(one.dtype), one.shape)
        for name, one in zip(node.input, given, strict=True)
        if one is not None
    ]
    outputs = [helper.make_empty_tensor_value_info(name) for name in node.output if name]
    graph = helper.make_graph([node], "case", inputs, outputs)
    opsets = [helper.make_opsetid("", max(since, OLDEST))]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def _legal(case: Case) -> bool:
    """Return whether ONNX takes a case."""
    made = model_of(case)
    if made is None:
        return False
    try:
        context = onnx.checker.C.CheckerContext()
        context.ir_version = 10
        context.opset_imports = {"": made.opset_import[0].version}
        onnx.checker.check_node(case[0], context)
        onnx.shape_inference.infer_shapes(made, check_type=True, strict_mode=True)
    except Exception:  # of a kind for each of its checks
        return False
    return True


def chains() -> Iterator[ModelProto]:
    """Make models of operators whose inputs or outputs are sequences, of x: 4 x 3 floats."""
    for version in (11, 13, 17, 24):
        every: tuple[list[tuple[str, list[str], dict[str, Any]]], ...] = (
            [("SequenceConstruct", ["x", "x"], {}), ("ConcatFromSequence", ["a0"], {"axis": 1})],
            [("SequenceConstruct", ["x", "h"], {}), ("SequenceAt", ["a0", "one"], {})],
            [
                ("SequenceConstruct", ["x", "x", "h"], {}),
                ("SequenceErase", ["a0", "one"], {}),
                ("SequenceLength", ["a1"], {}),
            ],
            [
                ("SequenceEmpty", [], {"dtype": 1}),
                ("SequenceInsert", ["a0", "x"], {}),
                ("SequenceInsert", ["a1", "h", "zero"], {}),
                ("SequenceAt", ["a2", "zero"], {}),
            ],
            [("SplitToSequence", ["x", "parts"], {"axis": 0}), ("SequenceAt", ["a0", "one"], {})],
            [
                ("SplitToSequence", ["x"], {"axis": 1, "keepdims": 0}),
                ("ConcatFromSequence", ["a0"], {"axis": 0, "new_axis": 1}),
            ],
        )
        for nodes in every:
            made = [
                helper.make_node(kind, inputs, [f"a{at}"], **values)
                for at, (kind, inputs, values) in enumerate(nodes)
            ]
            constants = {
                "h": np.ones((1, 3), np.float32),
                "one": np.array(1),
                "zero": np.array(0),
                "parts": np.array([1, 3]),
            }
            last = made[-1]
            kind = TensorProto.INT64 if last.op_type == "SequenceLength" else TensorProto.FLOAT
            graph = helper.make_graph(
                made,
                "chain",
                [make_tensor_value_info("x", TensorProto.FLOAT, [4, 3])],
                [make_tensor_value_info(last.output[0], kind, None)],
                [numpy_helper.from_array(one, name) for name, one in constants.items()],
            )
            opsets = [helper.make_opsetid("", version)]
            yield helper.make_model(graph, opset_imports=opsets, ir_version=10)


def theirs(case: Case) -> list[Any] | None:
    """Return what onnxruntime makes of a case; None: it does not run it."""
    try:
        return host_runtime.run(*case)
    except ValueError:
        return None


def same(kind: str, ours: Sequence[Any], theirs: Sequence[Any]) -> bool:
    """Return whether results are the same: of floats, up to a few units in the last place."""
    for one, other in zip(ours, theirs, strict=False):
        if isinstance(other, list):
            if not isinstance(one, list) or len(one) != len(other) or not same(kind, one, other):
                return False
            continue
        if other is None:
            continue
        one, other = np.asarray(one), np.asarray(other)
        if one.shape != other.shape or (one.dtype != other.dtype and other.dtype.kind not in "OSU"):
            return False
        if kind in DRAWN:
            continue
        if other.dtype.kind == "V":  # types that numpy has not, by their bits
            one, other = (array.view(f"u{array.itemsize}") for array in (one, other))
        if other.dtype.kind not in "fc":
            if not np.array_equal(one, other):
                return False
            continue
        most = np.abs(other[np.isfinite(other)].astype(np.float64)).max(initial=1)
        share = 1e-3 if other.dtype == np.float16 else 1e-5
        with np.errstate(all="ignore"):
            if not np.allclose(one, other, rtol=share, atol=share / 10 * most, equal_nan=True):
                return False
    return True
