"""The property of all passes: the model before and after computes the same codes."""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.lowered.evaluate import evaluate
from carrysave.compiler.lowered.lowered import Lowered
from carrysave.compiler.lowered.operands import Operands
from carrysave.compiler.passes.pipeline import Pass, passed
from carrysave.compiler.passes.setting import Setting
from carrysave.compiler.target.target import Target
from hw.catalog import Design
from verif.networks.comparing import multiplier

__all__ = ["TARGET", "changed_by", "check", "codes_of"]

TARGET = Target(Design.parse("coprocessor", {"engine": "systolic_os(m=4,n=4)"}))
_UNKNOWN = "DynamicQuantizeLSTM"
"""Operator that only onnxruntime has: a form with it has no evaluator here."""


def forms(graph: Graph, target: Target = TARGET) -> list[tuple[Pass | None, Lowered]]:
    """Return a model before the first pass, and after each."""
    setting = Setting(target=target)
    return [(None, Lowered(graph, graph.proto)), *passed(graph, setting)]


def codes_of(lowered: Lowered, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return outputs, and the codes that quantisers and products made, by the tensor's name."""
    seen: dict[str, np.ndarray] = {}
    compute = multiplier(True)

    def multiply(product: Operands, a: np.ndarray, b: np.ndarray | None) -> np.ndarray:
        seen[product.y] = compute(product, a, b)
        return seen[product.y]

    def observe(name: str, codes: np.ndarray) -> np.ndarray:
        seen[name] = codes
        return codes

    return evaluate(lowered, inputs, multiply, observe) | seen


def changed_by(graph: Graph, target: Target = TARGET) -> Iterator[tuple[Pass, Lowered, Lowered]]:
    """Yield the passes that change a model, with what it was and is."""
    for (_, before), (one, after) in pairwise(forms(graph, target)):
        tables = [before.tables, after.tables]
        same = len(set(map(len, tables))) == 1 and all(a is b for a, b in zip(*tables, strict=True))
        if one is not None and not (same and after.proto is before.proto):
            yield one, before, after


def check(graph: Graph, inputs: dict[str, np.ndarray], target: Target = TARGET) -> set[str]:
    """Compare each form with the one before; return the passes that changed the model.

    Layers that become codes, and then products, are compared with onnxruntime by their own tests.
    """
    changed = set()
    for one, before, after in changed_by(graph, target):
        changed.add(one.name)
        nodes = [*before.proto.graph.node, *after.proto.graph.node]
        if any(node.op_type == _UNKNOWN for node in nodes):
            continue
        if after.proto is before.proto:
            check_tables(before, after)
            continue
        ours, theirs = codes_of(after, inputs), codes_of(before, inputs)
        names = ours.keys() & theirs.keys()
        assert set(graph.outputs) <= names
        assert one.exact or len(names) > len(graph.outputs)
        for name in names:
            if one.exact:
                np.testing.assert_array_equal(ours[name], theirs[name], err_msg=one.name)
        if not one.exact:
            check_rounding(before, after, inputs)
    return changed


def check_tables(before: Lowered, after: Lowered) -> None:
    """Compare the tables of a model that is otherwise the same: rarely apart, and by one."""
    for ours, theirs in zip(after.tables, before.tables, strict=True):
        apart = np.abs(ours.values.astype(int) - theirs.values.astype(int))
        assert apart.max() <= 1
        assert np.count_nonzero(apart) <= 0.001 * apart.size


def check_rounding(before: Lowered, after: Lowered, inputs: dict[str, np.ndarray]) -> None:
    """Compare codes that are made of the codes of before: rarely apart, and by one at the most."""
    theirs = codes_of(before, inputs)
    wrong, count = 0, 0
    compute = multiplier(True)

    def observe(name: str, codes: np.ndarray) -> np.ndarray:
        nonlocal wrong, count
        if name not in theirs:
            return codes
        apart = np.abs(codes.astype(int) - theirs[name].astype(int))
        assert apart.max(initial=0) <= 1, name
        wrong, count = wrong + int(apart.sum()), count + apart.size
        return theirs[name]

    def multiply(product: Operands, a: np.ndarray, b: np.ndarray | None) -> np.ndarray:
        return observe(product.y, compute(product, a, b))

    evaluate(after, inputs, multiply, observe)
    assert count
    assert wrong <= 0.02 * count
