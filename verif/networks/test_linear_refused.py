"""Linear attention that the block does not have: on the host, or refused by name."""

from typing import Any

import numpy as np
import onnx
import pytest

from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.lowered.evaluate import evaluate
from carrysave.compiler.lowered.lowered import Lowered
from carrysave.compiler.passes.pipeline import lower
from carrysave.compiler.passes.refusals import RefusedError
from carrysave.compiler.target.target import Target
from hw.catalog import Design
from verif.networks.comparing import TARGET, draw, multiplier
from verif.networks.linear_models import Linear


def test_of_floats_stays_on_the_host() -> None:
    linear = Linear()
    model = linear.model()
    (node,) = (one for one in model.graph.node if one.op_type == "LinearAttention")
    node.input[1] = linear.b.constant(np.ones((2, 10, 4)))
    model.graph.initializer.append(linear.b.constants[-1])
    with pytest.raises(RefusedError, match="no quantised product"):
        lower(Graph(model), TARGET)
    graph = Graph(model)
    assert Lowered(graph, model).floats == {"LinearAttention": 1}


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"update_rule": "delta"}, "update_rule must be linear or gated, not delta"),
        ({"update_rule": "gated_delta"}, "update_rule must be linear or gated, not gated_delta"),
        ({"scale": float("inf")}, "scale must be finite, not inf"),
        ({"chunk_size": -1}, "chunk_size must be 0 or more, not -1"),
    ],
)
def test_refused(more: dict[str, Any], says: str) -> None:
    with pytest.raises(RefusedError, match=f"LinearAttention 'a': {says}"):
        lower(Graph(Linear(**more).model()), TARGET)


@pytest.mark.parametrize(
    ("rule", "inputs", "attributes", "says"),
    [
        (b"linear", ["", "ones"], {}, "decay must be given if update_rule is gated"),
        (b"linear", ["", "", "ones"], {}, "decay must be given .*; so must beta"),
        (b"gated", [], {}, "decay must be given if update_rule is gated"),
        (b"linear", [], {"q_num_heads": 0}, "q_num_heads must be a multiple .*, not 0, 1"),
        (b"linear", [], {"kv_num_heads": 0}, "q_num_heads must be a multiple .*, not 2, 0"),
    ],
)
def test_refused_inputs(
    rule: bytes, inputs: list[str], attributes: dict[str, int], says: str
) -> None:
    linear = Linear()
    model = linear.model()
    (node,) = (one for one in model.graph.node if one.op_type == "LinearAttention")
    next(one for one in node.attribute if one.name == "update_rule").s = rule
    for name, value in attributes.items():
        next(one for one in node.attribute if one.name == name).i = value
    given = linear.b.constant(-np.ones((2, 10, 1)))
    model.graph.initializer.append(linear.b.constants[-1])
    node.input[3:] = [given if one else "" for one in inputs]
    with pytest.raises(RefusedError, match=f"LinearAttention 'a': {says}"):
        lower(Graph(model), TARGET)


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ({"engine": "ternary_core(m=2,n=2)"}, "must have B in two's complement of 4 bits or more"),
        ({"engine": "systolic_os(m=2,n=2)", "codebook": "nf4"}, "B of nf4 is of a table's codes"),
    ],
)
def test_refused_engines(how: dict[str, str], says: str) -> None:
    with pytest.raises(RefusedError, match=says):
        lower(Graph(Linear().model()), Target(Design.parse("coprocessor", how)))


def test_refused_as_it_runs() -> None:
    linear = Linear(update_rule="gated")
    assert linear.decay is not None
    model = linear.model()
    (node,) = (one for one in model.graph.node if one.op_type == "LinearAttention")
    given = next(one for one in model.graph.initializer if one.name == node.input[4])
    given.CopyFrom(onnx.numpy_helper.from_array(-linear.decay, given.name))
    network = lower(Graph(model), TARGET)
    with pytest.raises(ValueError, match="LinearAttention 'a': decay must be 0 at most, not 0"):
        evaluate(
            network, {"x": draw(np.random.default_rng(1), linear.shape, np.int8)}, multiplier(True)
        )


def test_a_past_state_must_be_finite() -> None:
    linear = Linear(past=True)
    model = linear.model()
    (node,) = (one for one in model.graph.node if one.op_type == "LinearAttention")
    given = next(one for one in model.graph.initializer if one.name == node.input[3])
    past = np.where(linear.past > 0, np.inf, 0).astype(np.float32)
    given.CopyFrom(onnx.numpy_helper.from_array(past, given.name))
    x = draw(np.random.default_rng(1), linear.shape, np.int8)
    with pytest.raises(ValueError, match="LinearAttention 'a': past_state must be finite"):
        evaluate(lower(Graph(model), TARGET), {"x": x}, multiplier(True))


def test_a_program_leaves_it_to_the_host() -> None:
    with pytest.raises(RefusedError, match="LinearAttention is products in run alone"):
        lower(Graph(Linear().model()), TARGET, program=True)
