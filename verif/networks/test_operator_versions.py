"""Operators that the host takes, in every version: against onnxruntime, or ONNX's own results."""

from collections import defaultdict
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, defs, helper
from onnx.backend.test.case.node import collect_testcases

from carrysave.compiler.graph import host_runtime
from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.graph.host_versions import BY_EVALUATOR, BY_RUNTIME
from carrysave.compiler.graph.reference_runtime import session
from carrysave.compiler.lowered.evaluate import evaluate
from carrysave.compiler.lowered.lowered import Lowered
from carrysave.compiler.passes.refusals import check_host
from verif.networks.comparing import multiplier
from verif.networks.operator_walk import (
    OLDEST,
    WITH_GRAPHS,
    Case,
    cases,
    chains,
    model_of,
    older,
    same,
    theirs,
    value_of,
    versions,
)

_FEW = 2
"""Cases of a version, at least, where there are as many; all of them are in ``make prove``."""

pytestmark = pytest.mark.filterwarnings("ignore")
_collected = cache(cases)


def _run(model: ModelProto, given: dict[str, Any], outputs: Sequence[str]) -> list[Any]:
    found = evaluate(Lowered(Graph(model), model), given, multiplier(True))
    return [found.get(name) for name in outputs]


def _ours(case: Case) -> list[Any]:
    node, _, given = case
    model = model_of(case)
    assert model is not None
    inputs = {name: one for name, one in zip(node.input, given, strict=True) if name}
    return _run(model, inputs, node.output)


def _without_onnxruntime(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("carrysave.compiler.graph.host_runtime.installed", lambda name: False)


def _walk(most: int) -> dict[tuple[str, int], int]:
    """Compare the evaluator with onnxruntime; return how many cases each version has."""
    done: dict[tuple[str, int], int] = {}
    for name, since in versions():
        if since not in BY_EVALUATOR.get(name, ()):
            continue
        count = 0
        for case in _collected()[name]:
            said = older(case, since)
            expected = None if said is None else theirs(said)
            if said is not None and expected is not None:
                assert same(name, _ours(said), expected), (name, since, said[0])
                count += 1
                if count == most:
                    break
        done[name, since] = count
    return done


def _by_onnx(wanted: set[tuple[str, int]]) -> set[tuple[str, int]]:
    """Compare with ONNX's own results what onnxruntime does not run; return what was there."""
    done: set[tuple[str, int]] = set()
    for case in collect_testcases(None):
        assert case.model is not None
        graph = case.model.graph
        kinds = {node.op_type for node in graph.node}
        if any(node.domain for node in graph.node) or kinds & WITH_GRAPHS:
            continue
        version = next(one.version for one in case.model.opset_import if not one.domain)
        own = {(kind, host_runtime.since(kind, version)) for kind in kinds} & wanted
        for given, results in (case.data_sets or ()) if own else ():
            inputs = dict(zip([one.name for one in graph.input], map(value_of, given), strict=True))
            found = _run(case.model, inputs, [one.name for one in graph.output])
            one = next(iter(kinds)) if len(kinds) == 1 else ""
            assert same(one, found, list(map(value_of, results))), case.name
            done |= own
    return done


def _by_chains() -> set[tuple[str, int]]:
    """Compare sequences with onnxruntime's."""
    done: set[tuple[str, int]] = set()
    x = np.arange(12, dtype=np.float32).reshape(4, 3)
    for model in chains():
        names = [one.name for one in model.graph.output]
        expected = session(model.SerializeToString()).run(names, {"x": x})
        assert same("", _run(model, {"x": x}, names), expected)
        version = model.opset_import[0].version
        done |= {
            (one.op_type, host_runtime.since(one.op_type, version)) for one in model.graph.node
        }
    return done


@pytest.mark.parametrize(
    "most", [_FEW, pytest.param(1 << 20, marks=pytest.mark.prove)], ids=["few", "all"]
)
def test_every_version(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is in the table was compared, and is right without onnxruntime, too."""
    _without_onnxruntime(monkeypatch)
    done = _walk(most)
    rest = {one for one, count in done.items() if not count} - _by_chains()
    rest -= _by_onnx(rest)
    assert not rest
    kinds = len(done) + sum(map(len, BY_RUNTIME.values()))
    refused = len(versions()) - kinds
    print(
        f"versions of operators: {kinds} run, {sum(done.values())} cases against onnxruntime;"
        f" {refused} refused"
    )
    assert kinds > 500


@pytest.mark.prove
def test_by_onnxruntime_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is said to be wrong by ONNX's evaluator is: else the host need not have onnxruntime."""
    _without_onnxruntime(monkeypatch)
    for name, numbers in BY_RUNTIME.items():
        for since in numbers:
            made = (older(case, since) for case in _collected()[name])
            pairs = [(one, theirs(one)) for one in made if one is not None]
            assert any(not _alike(one, expected) for one, expected in pairs if expected), name


def _alike(case: Case, expected: list[Any]) -> bool:
    try:
        return same(case[0].op_type, _ours(case), expected)
    except ValueError:
        return False


def test_others_are_refused() -> None:
    """A version that was not compared is refused by node, with the versions that were."""
    refused = 0
    for name, since in versions():
        node = helper.make_node(name, ["x"], ["y"], "here")
        graph = helper.make_graph([node], "one", [], [])
        opsets = [helper.make_opsetid("", max(since, OLDEST))]
        graph_of = Graph(helper.make_model(graph, opset_imports=opsets))
        if since in BY_EVALUATOR.get(name, ()) + BY_RUNTIME.get(name, ()):
            check_host(graph_of)
            continue
        refused += 1
        with pytest.raises(ValueError, match=rf"^{name} 'here': (its version must be one of |the)"):
            check_host(graph_of)
    assert refused


def test_without_onnxruntime(monkeypatch: pytest.MonkeyPatch) -> None:
    """Operators that only onnxruntime runs name the extra that has it."""
    monkeypatch.setattr("carrysave.compiler.graph.host_versions.installed", lambda name: False)
    node = helper.make_node("BatchNormalization", list("xabcd"), ["y"], "here")
    model = helper.make_model(
        helper.make_graph([node], "one", [], []), opset_imports=[helper.make_opsetid("", 13)]
    )
    with pytest.raises(ValueError, match="BatchNormalization 'here': the host needs onnxruntime; "):
        check_host(Graph(model))


@pytest.mark.parametrize("opset", range(OLDEST, defs.onnx_opset_version() - 4))
def test_batch_normalisation(opset: int) -> None:
    """It takes the mean that it is given, in every opset: by its formula."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(2, 3, 4)).astype(np.float32)
    scale, bias, mean, variance = rng.uniform(0.5, 2, (4, 3, 1)).astype(np.float32)
    node = helper.make_node("BatchNormalization", list("xsbmv"), ["y"])
    given = [x, *(one.reshape(3) for one in (scale, bias, mean, variance))]
    node.input[:] = [f"i{at}" for at in range(5)]
    (found,) = _ours((node, opset, given))
    expected = (x - mean) / np.sqrt(variance + np.float32(1e-5)) * scale + bias
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", ["Softmax", "LogSoftmax", "Hardmax"])
def test_softmax_of_old(kind: str) -> None:
    """Before opset 13, all axes from one on are one row: by its formula."""
    x = np.random.default_rng(2).normal(size=(2, 3, 4)).astype(np.float32)
    node = helper.make_node(kind, ["i0"], ["y"], axis=1)
    (found,) = _ours((node, 11, [x]))
    rows = x.reshape(2, 12).astype(np.float64)
    if kind == "Hardmax":
        expected = (rows == rows.max(axis=1, keepdims=True)).astype(np.float64)
    else:
        expected = np.exp(rows) / np.exp(rows).sum(axis=1, keepdims=True)
        expected = np.log(expected) if kind == "LogSoftmax" else expected
    np.testing.assert_allclose(found, expected.reshape(x.shape), rtol=1e-5, atol=1e-6)


def test_tables_have_real_versions() -> None:
    every: dict[str, set[int]] = defaultdict(set)
    for name, since in versions():
        every[name].add(since)
    for table in (BY_EVALUATOR, BY_RUNTIME):
        for name, numbers in table.items():
            assert every[name].issuperset(numbers), name
            assert list(numbers) == sorted(set(numbers)), name
