"""Heads of attention as jobs: in one pass over scores, and by whole rows; run and programs."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.lowered.evaluate import evaluate
from carrysave.compiler.lowered.heads import ONE_PASS, ROWS
from carrysave.compiler.passes.pipeline import lower
from carrysave.compiler.program.cost import moved_bytes
from carrysave.compiler.program.head_ways import HeadWays
from carrysave.compiler.program.steps import Start
from carrysave.compiler.run.machine import Machine
from verif.networks.attending import ROWS as LENGTH
from verif.networks.attending import Coded, grouped, projected
from verif.networks.attention_ways import (
    by_program,
    by_run,
    error,
    inputs,
    parameters,
    program,
    target,
)
from verif.support.command import Run
from verif.support.schemas import check

ON = target()
CAUSAL = np.tri(LENGTH, dtype=bool)
MODELS: dict[str, tuple[Callable[[], Coded], dict[str, Any]]] = {
    "int8": (
        lambda: Coded(kind=np.int8).add("Attention", q_num_heads=2, kv_num_heads=2),
        {},
    ),
    "causal": (
        lambda: Coded().add("Attention", q_num_heads=2, kv_num_heads=2, is_causal=1),
        {"seen": CAUSAL},
    ),
    "multi_head": (lambda: Coded(opset=17).add("MultiHeadAttention", num_heads=2), {}),
    "unidirectional": (
        lambda: Coded(opset=17).add("MultiHeadAttention", num_heads=2, unidirectional=1),
        {"seen": CAUSAL},
    ),
    "groups_by_head": (
        lambda: Coded(4, 2, by_head=True).add("Attention", is_causal=1),
        {"seen": CAUSAL},
    ),
    "one_key_head": (
        lambda: Coded(4, 1, value_width=7).add("Attention", q_num_heads=4, kv_num_heads=1),
        {},
    ),
    "window": (
        lambda: grouped(local_window_size=2),
        {"seen": CAUSAL & ~np.tri(LENGTH, k=-2, dtype=bool)},
    ),
    "fewer_keys": (
        lambda: Coded(keys=3).add("Attention", q_num_heads=2, kv_num_heads=2, scale=0.25),
        {"scale": 0.25},
    ),
}


@pytest.mark.parametrize("way", [ONE_PASS, ROWS])
@pytest.mark.parametrize("name", MODELS)
def test_heads_are_near_attention(name: str, way: str) -> None:
    """And the program makes the same bits as run."""
    make, how = MODELS[name]
    coded = make()
    outputs = by_run(coded, ON, way)
    assert error(coded, outputs, **how) < {ONE_PASS: 0.012, ROWS: 0.025}[way]
    np.testing.assert_array_equal(by_program(coded, ON, way), outputs)


def _masked(mask: np.ndarray, kind: Any) -> Coded:
    coded = Coded()
    given = coded.b.constant(mask, kind)
    return coded.add("Attention", [given], q_num_heads=2, kv_num_heads=2)


@pytest.mark.parametrize("way", [ONE_PASS, ROWS])
def test_masks(way: str) -> None:
    """Of booleans; of numbers, for each head its own."""
    seen = CAUSAL[::-1, ::-1]
    coded = _masked(seen, bool)
    assert error(coded, by_run(coded, ON, way), seen=seen) < 0.025
    added = np.random.default_rng(5).normal(size=(2, LENGTH, LENGTH)).astype(np.float32)
    added[1, 2, 3] = -np.inf
    coded = _masked(added, np.float32)
    outputs = by_run(coded, ON, way)
    assert error(coded, outputs, added=added) < 0.025
    np.testing.assert_array_equal(by_program(coded, ON, way), outputs)


@pytest.mark.parametrize("length", [40, 100])
@pytest.mark.parametrize("causal", [0, 1])
def test_one_pass_is_nearer_than_whole_rows(
    length: int, causal: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of several blocks of keys."""
    monkeypatch.setattr("verif.networks.attending.ROWS", length)
    coded = Coded().add("Attention", q_num_heads=2, kv_num_heads=2, is_causal=causal)
    how = {"seen": np.tri(length, dtype=bool)} if causal else {}
    errors = [error(coded, by_run(coded, ON, way), **how) for way in (ONE_PASS, ROWS)]
    assert errors[0] < errors[1]


@pytest.mark.parametrize("way", [ONE_PASS, ROWS])
@pytest.mark.parametrize("code", [-128, 127])
def test_alike_values_are_results(code: int, way: str) -> None:
    """Sums of the greatest codes have room."""
    coded = MODELS["int8"][0]()
    x = np.full(coded.shape, code, np.int8)
    np.testing.assert_allclose(by_run(coded, ON, way, x), (code - 9) * 0.01, atol=0.006)


@pytest.mark.parametrize("way", [ONE_PASS, ROWS])
def test_first_keys_are_left_out(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a window, for the last rows."""
    monkeypatch.setattr("verif.networks.attending.ROWS", 70)
    coded = grouped(local_window_size=9)
    seen = np.tri(70, dtype=bool) & ~np.tri(70, k=-9, dtype=bool)
    outputs = by_run(coded, ON, way)
    assert error(coded, outputs, seen=seen) < 0.03
    np.testing.assert_array_equal(by_program(coded, ON, way), outputs)


def test_hidden_keys_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of causal rows 32 are computed at a time: the first ones need as many keys."""
    monkeypatch.setattr("verif.networks.attending.ROWS", 100)
    coded = Coded().add("Attention", q_num_heads=2, kv_num_heads=2, is_causal=1)
    machine = Machine(ON, True, "none", remember=False)
    network = lower(Graph(coded.model()), ON, attention=HeadWays(ON, ONE_PASS))
    evaluate(network, {"x": inputs(coded)}, machine.keep)
    shapes = machine.layers["a"].shapes[:12:3]
    assert shapes == [(32, 4, 32), (32, 4, 64), (32, 4, 96), (4, 4, 100)]


@pytest.mark.parametrize("way", [ONE_PASS, ROWS])
@pytest.mark.parametrize("causal", [0, 1])
def test_scores_are_on_chip(causal: int, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of some rows at a time, where they have room: run and programs make the same bits."""
    monkeypatch.setattr("verif.networks.attending.ROWS", 60)
    on = target(scratch="4096")
    coded = Coded().add("Attention", q_num_heads=2, kv_num_heads=2, is_causal=causal)
    np.testing.assert_array_equal(by_program(coded, on, way), by_run(coded, on, way))
    moved = [
        sum(
            moved_bytes(job, one)
            for step in program(coded, one, way).steps
            if isinstance(step, Start)
            for job in step.jobs
        )
        for one in (on, ON)
    ]
    assert moved[0] < 0.6 * moved[1]


def test_command(run: Run, tmp_path: Path) -> None:
    """Run and compile say the way, in JSON, too; run compares with onnxruntime."""
    model, x = projected(1)
    onnx.save(model, tmp_path / "m.onnx")
    np.save(tmp_path / "x.npy", x)
    texts = [word for name, one in parameters().items() for word in ("-p", f"{name}={one}")]
    given = [str(tmp_path / "m.onnx"), *texts, "--output", str(tmp_path), "--attention"]
    data = ["--input", str(tmp_path / "x.npy"), "--simulate", "none"]
    ran = check("run", run("run", *given, ONE_PASS, *data, "--json").out)
    compiled = check("compile", run("compile", *given, ONE_PASS, "--json").out)
    assert [one["way"] for facts in (ran, compiled) for one in facts["attention"]] == [ONE_PASS] * 2
    assert "Attention" not in ran["host_float_products"]
    (row,) = (row for row in ran["layers"] if row["operator"] == "Attention")
    # Of both samples and heads: queries times the keys that they see, times what these have.
    assert row["macs"] == 2 * 2 * 15 * 8
    assert ran["outputs"][0]["most"] <= 2
    assert compiled["host_segments"] == 0
    (note,) = (one for one in ran["notes"] if one.startswith("attention"))
    assert f"{ONE_PASS} takes " in run("compile", *given, ONE_PASS).out
    assert f"{ONE_PASS}; {ONE_PASS} takes " in note
    for command in (["run", *given, "two-pass", *data], ["compile", *given, "two-pass"]):
        wrong = run(*command)
        assert wrong.code == 2
        assert "auto, one-pass, rows, host, not 'two-pass'" in wrong.err


@pytest.mark.prove
def test_on_the_simulated_block(run: Run, tmp_path: Path) -> None:
    """All jobs of heads, of both ways, make golden's bytes."""
    model, x = projected(1)
    onnx.save(model, tmp_path / "m.onnx")
    np.save(tmp_path / "x.npy", x)
    texts = [word for name, one in parameters().items() for word in ("-p", f"{name}={one}")]
    for way in (ONE_PASS, ROWS):
        how = ["--input", "x.npy", "--simulate", "all", "--attention", way, "--json"]
        found = run("run", "m.onnx", *how, *texts)
        assert found.code == 0, found.err
        facts = check("run", found.out)
        assert facts["simulation_equal"] is True
        (row,) = (row for row in facts["layers"] if row["operator"] == "Attention")
        assert row["rows"] == row["simulated_rows"]
