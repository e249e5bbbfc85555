"""Linear attention of codes: against ONNX's evaluator, onnxruntime, and double precision."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.lowered.evaluate import evaluate
from carrysave.compiler.passes.pipeline import lower
from carrysave.compiler.run.compare import Comparison
from carrysave.compiler.target.target import Target
from hw.catalog import Design
from verif.networks.comparing import TARGET, draw, multiplier
from verif.networks.linear_models import Linear, projected
from verif.support.command import Run
from verif.support.schemas import check

FACTORS = Target(Design("coprocessor", {"engine": "systolic_os(m=4,n=4)", "row_factors": True}))
NAMES = ["a state", "a read", "a scores", "a context"]


def computed(linear: Linear, target: Target, x: np.ndarray) -> dict[str, np.ndarray]:
    """Return the outputs; all products are on the block."""
    network = lower(Graph(linear.model()), target)
    assert [one.name for one in network.products] == NAMES
    assert not network.floats
    return evaluate(network, {"x": x}, multiplier(True, target))


def drawn(linear: Linear) -> np.ndarray:
    return draw(np.random.default_rng(1), linear.shape, linear.coding[0])


def given(model: onnx.ModelProto, place: int, values: np.ndarray) -> onnx.ModelProto:
    """Set a constant that attention takes."""
    (node,) = (one for one in model.graph.node if one.op_type == "LinearAttention")
    tensor = next(one for one in model.graph.initializer if one.name == node.input[place])
    tensor.CopyFrom(onnx.numpy_helper.from_array(values.astype(np.float32), tensor.name))
    return model


EXACT: dict[str, dict[str, Any]] = {
    "groups": {},
    "heads": {"heads": (2, 2)},
    "whole chunks": {"tokens": 8},
    "one chunk": {"chunk_size": 64},
    "past": {"past": True},
    "token": {"tokens": 1, "past": True},
    "first token": {"tokens": 1},
    "tokens": {"chunk_size": 1, "tokens": 3},
    "one behind": {"tokens": 9, "past": True},
    "zero": {"coding": (np.uint8, 117), "tokens": 3},
    "moved": {"moved": True},
    "steps": {"steps": (0.5, 0.25, 2.0), "scale": 0.0},
}


@pytest.mark.parametrize("target", [TARGET, FACTORS], ids=["plain", "factors"])
@pytest.mark.parametrize("name", EXACT)
def test_linear_is_exact(name: str, target: Target) -> None:
    """Bit for bit, as long as the floats of the reference are exact."""
    linear = Linear(**EXACT[name])
    x = drawn(linear)
    found = computed(linear, target, x)
    expected = ReferenceEvaluator(linear.model()).run(None, {"x": x})
    for one, values in zip("ys", expected, strict=True):
        np.testing.assert_array_equal(found[one], values)
    y, state = linear.expected(x)
    np.testing.assert_array_equal(found["y"], y.astype(np.float32))
    np.testing.assert_array_equal(found["s"], state.astype(np.float32))


GATED: dict[str, tuple[float, dict[str, Any]]] = {
    "groups": (6e-5, {}),
    "past": (6e-5, {"past": True, "chunk_size": 10}),
    "zero": (6e-5, {"coding": (np.uint8, 117), "past": True}),
    "token": (4e-5, {"tokens": 1, "past": True}),
    "chunks": (1.5e-4, {"tokens": 130, "chunk_size": 64}),
    "by number": (3e-4, {"by_number": 0.1}),
    "by number, chunks of two": (3e-4, {"by_number": 0.6, "tokens": 11}),
    "by number, token by token": (3e-4, {"by_number": 3}),
    "by number, all in one": (3e-4, {"by_number": 0.02, "tokens": 30, "chunk_size": 64}),
    "zero, by number": (3e-4, {"coding": (np.uint8, 117), "past": True, "by_number": 0.1}),
}


@pytest.mark.parametrize("target", [TARGET, FACTORS], ids=["plain", "factors"])
@pytest.mark.parametrize("name", GATED)
def test_gated_errors(name: str, target: Target) -> None:
    """Against double precision, relative to the root mean square of outputs."""
    most, more = GATED[name]
    linear = Linear(update_rule="gated", **more)
    x = drawn(linear)
    found = computed(linear, target, x)
    for one, values in zip("ys", linear.expected(x), strict=True):
        error = np.sqrt(np.mean((found[one] - values) ** 2) / np.mean(values**2))
        assert error < most


def test_a_past_state_of_more_than_32_bits() -> None:
    """Sums have 48 bits: as many digits as the state has are read."""
    target = Target(Design("coprocessor", {"engine": "npe(m=2,n=2,formats=int8,int4)"}))
    linear = Linear(past=True)
    linear.past *= 1 << 24
    model = given(linear.model(), 3, linear.past)
    x = drawn(linear)
    found = evaluate(lower(Graph(model), target), {"x": x}, multiplier(True, target))
    for one, values in zip("ys", linear.expected(x), strict=True):
        np.testing.assert_array_equal(found[one], values.astype(np.float32))


def test_forgets() -> None:
    """A factor of 0 in the middle of a chunk, whose logarithm is minus infinity."""
    linear = Linear(update_rule="gated", heads=(1, 1))
    assert linear.decay is not None
    linear.decay[:, 2] = -np.inf
    model = given(linear.model(), 4, linear.decay)
    x = drawn(linear)
    found = evaluate(lower(Graph(model), FACTORS), {"x": x}, multiplier(True, FACTORS))
    y, state = linear.expected(x)
    np.testing.assert_allclose(found["y"], y, atol=1e-3 * np.abs(y).max())
    np.testing.assert_allclose(found["s"], state, atol=1e-3 * np.abs(state).max())


def test_against_onnxruntime() -> None:
    """Which adds floats; a difference is counted in units in the last place of the largest."""
    cases: tuple[tuple[dict[str, Any], int], ...]
    cases = ({}, 0), ({"steps": (0.3, 0.1, 0.7), "scale": 0.0}, 4)
    for more, most in cases:
        linear = Linear(**more)
        comparison = Comparison(lower(Graph(linear.model()), TARGET))
        comparison.run({"x": drawn(linear)}, multiplier(True))
        counted = comparison.differences["LinearAttention", True]
        assert counted.codes == 2 * 10 * 10 + 2 * 4 * 5
        assert counted.most <= most


def test_goes_on_with_its_state() -> None:
    """Tokens in two parts, the second one token by token, are those of all at once."""
    whole = Linear(tokens=7, past=True)
    x = drawn(whole)
    due = computed(whole, FACTORS, x)
    parts, state = [], whole.past
    for start, end in ((0, 5), (5, 6), (6, 7)):
        linear = Linear(tokens=end - start, past=True)
        network = lower(Graph(given(linear.model(), 3, state)), FACTORS)
        made = evaluate(network, {"x": x[:, start:end]}, multiplier(True, FACTORS))
        parts.append(made["y"])
        state = made["s"]
    np.testing.assert_array_equal(np.concatenate(parts, axis=1), due["y"])
    np.testing.assert_array_equal(state, due["s"])


def test_a_product_of_networks() -> None:
    """Between quantisers all products are on the block, and codes are onnxruntime's."""
    network = lower(Graph(projected()), TARGET)
    names = ["conv/convolution", *(f"MatMul_{one}/sums" for one in "qkvo")]
    assert sorted(one.name for one in network.products) == sorted([
        *names,
        *(one.replace("a ", "lin ") for one in NAMES),
    ])
    assert not network.floats
    x = draw(np.random.default_rng(2), (2, 8, 6), np.uint8)
    comparison = Comparison(network)
    expected = comparison.run({"x": x}, multiplier(True))
    found = evaluate(network, {"x": x}, multiplier(True))
    np.testing.assert_array_equal(found["y"], expected["y"])
    assert not comparison.causes()


def test_the_host_counts_digits_and_sums() -> None:
    """Beside what attention takes and makes: two chains, in chunks of 4, 4 and 2 tokens."""
    linear = Linear(heads=(1, 1))
    host: Counter[str] = Counter()
    network = lower(Graph(linear.model()), TARGET)
    evaluate(network, {"x": drawn(linear)}, multiplier(True), host=host)
    whole, rest = (
        # State, read, scores and context of a chunk: digits, or sums if they are more.
        max(4 * n + 5 * n, 4 * 5) + (4 * n + 4 * 20) + 8 * n + max(3 * n * n + 5 * n, 3 * n * 5)
        for n in (4, 2)
    )
    assert host["LinearAttention"] == 2 * (2 * whole + rest) + 2 * 10 * 13


@pytest.mark.prove
@pytest.mark.parametrize("rule", ["linear", "gated"])
def test_on_the_simulated_block(run: Run, tmp_path: Path, rule: str) -> None:
    """Every product, of chunks that go on with the state of the one before."""
    linear = Linear(update_rule=rule, past=True)
    onnx.save(linear.model(), tmp_path / "m.onnx")
    np.save(tmp_path / "x.npy", drawn(linear))
    built = ["-p", "engine=systolic_os(m=4,n=4)", "-p", "row_factors=true"]
    how = ["--energy", "none", "--simulate", "all", "--json"]
    found = run("run", "m.onnx", "--input", "x.npy", *built, *how)
    assert found.code == 0, found.err
    facts = check("run", found.out)
    assert facts["simulation_equal"] is True
    assert [one["layer"] for one in facts["layers"]] == NAMES
    # Two chunks and a rest, which go on: K is that of all tokens.
    assert [shape[1] for shape in facts["layers"][0]["shapes"]] == [8, 8, 2, 2]
