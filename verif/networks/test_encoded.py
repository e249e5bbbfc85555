"""Products of floats in formats of the engine: against exact sums, onnxruntime and the hardware."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.graph.reference_runtime import Oracle
from carrysave.compiler.lowered import golden
from carrysave.compiler.lowered.encoded import Choice, encode, steps_of
from carrysave.compiler.lowered.evaluate import evaluate
from carrysave.compiler.lowered.operands import Operands
from carrysave.compiler.passes.floats import read, with_choices
from carrysave.compiler.passes.pipeline import lower
from carrysave.compiler.target.target import Target
from carrysave.driver import Requantisation
from carrysave.driver.batch import Work
from carrysave.sim import products
from golden.formats.element import ElementFormat
from hw.catalog import Design
from verif.networks.graphs import Builder
from verif.networks.test_products import CONVOLUTIONS

TARGET = Target(Design("coprocessor", {"engine": "npe(m=4,n=4)"}))
NAMES = list(TARGET.formats)


def multiply(product: Operands, a: np.ndarray, b: np.ndarray | None) -> np.ndarray:
    compiled = product.compile(TARGET, a, b, in_hardware=False)
    return golden.product(TARGET.spec, compiled)


def ours(proto: Any, choice: Choice, **inputs: np.ndarray) -> np.ndarray:
    """Run a model of one product in chosen formats."""
    graph = Graph(proto)
    (node,) = graph.nodes
    return evaluate(lower(graph, TARGET, {node.name: choice}), inputs, multiply)["y"]


def representable(fmt: ElementFormat, rng: np.random.Generator, shape: Any, step: float) -> Any:
    """Draw numbers of a format, of which each column or kernel has the greatest."""
    codes = np.arange(fmt.low, fmt.high + 1)
    values = np.unique(fmt.to_float(codes)[np.isfinite(fmt.to_float(codes))])
    drawn = rng.choice(values, shape)
    drawn[0] = values.max()
    return (drawn * step).astype(np.float32)


@pytest.mark.parametrize("name", ["int4", "e2m1", "posit4e1", "int8", "e3m2"])
@pytest.mark.parametrize("how", CONVOLUTIONS)
def test_convolutions_of_representable_numbers_are_onnxruntimes(name: str, how: str) -> None:
    """Formats whose sums float32 holds: nothing is rounded, in any order."""
    rng = np.random.default_rng([len(how), NAMES.index(name)])
    fmt = TARGET.formats[name]
    builder = Builder(rng)
    more = dict(CONVOLUTIONS[how])
    kernel, group = more.pop("kernel"), more.get("group", 1)
    # The greatest is in each kernel, so that its step is found again.
    weights = np.stack([
        representable(fmt, rng, (6 // group * int(np.prod(kernel)),), 0.25) for _ in range(6)
    ]).reshape(6, 6 // group, *kernel)
    bias = builder.constant(rng.integers(-8, 8, 6))
    builder.node("Conv", ["x", builder.constant(weights), bias], "y", **more)
    x = representable(fmt, rng, (2, 6, *(9, 8)[: len(kernel)]), 0.5)
    proto = builder.model(x.shape, np.float32, np.float32)
    found = ours(proto, Choice(a=name, b=name, a_step=0.5), x=x)
    np.testing.assert_array_equal(found, Oracle(Graph(proto), {}).run({"x": x})["y"])


@pytest.mark.parametrize(
    ("kind", "attributes"),
    [
        ("MatMul", {}),
        ("Gemm", {}),
        ("Gemm", {"transB": 1}),
        ("Gemm", {"transA": 1, "alpha": 0.5, "beta": 2.0}),
    ],
)
def test_matrices_of_representable_numbers_are_onnxruntimes(
    kind: str, attributes: dict[str, Any]
) -> None:
    rng = np.random.default_rng(4)
    a, b = TARGET.formats["int8"], TARGET.formats["int4"]
    builder = Builder(rng)
    weights = representable(b, rng, (13, 7), 0.125)
    x = representable(a, rng, (5, 13), 2.0)
    if attributes.get("transB"):
        weights = weights.T
    if attributes.get("transA"):
        x = x.T
    inputs = ["x", builder.constant(weights)]
    if kind == "Gemm":
        inputs.append(builder.constant(rng.integers(-9, 9, 7)))
    builder.node(kind, inputs, "y", **attributes)
    proto = builder.model(x.shape, np.float32, np.float32)
    found = ours(proto, Choice(a="int8", b="int4", a_step=2.0), x=x)
    np.testing.assert_array_equal(found, Oracle(Graph(proto), {}).run({"x": x})["y"])


def exact(choice: tuple[str, str], a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Sum products of codes with more bits than they have, in units of the mode's last bit."""
    left, right = (
        TARGET.formats[name].to_float(codes) for name, codes in zip(choice, (a, b), strict=True)
    )
    unit = 2.0 ** TARGET.modes[choice].exponent
    return np.array([
        [round(math.fsum(row * column) / unit) for column in np.nan_to_num(right).T]
        for row in np.nan_to_num(left)
    ])


@pytest.mark.parametrize("a_name", NAMES)
@pytest.mark.parametrize("b_name", NAMES)
def test_products_of_floats_are_rounded_once(a_name: str, b_name: str) -> None:
    """Each operand to its format, and the exact sum to float32; B known, and computed."""
    rng = np.random.default_rng([NAMES.index(a_name), NAMES.index(b_name)])
    x = rng.standard_normal((5, 37)).astype(np.float32)
    w = rng.standard_normal((37, 6)).astype(np.float32)
    a_fmt, b_fmt = TARGET.formats[a_name], TARGET.formats[b_name]
    unit = 2.0 ** TARGET.modes[a_name, b_name].exponent
    steps = steps_of(b_fmt, w)
    codes = encode(a_fmt, x, 0.03), encode(b_fmt, w, steps)
    sums = exact((a_name, b_name), *codes)
    builder = Builder(rng)
    builder.node("MatMul", ["x", builder.constant(w)], "y")
    choice = Choice(a=a_name, b=b_name, a_step=0.03, b_step=0.05)
    found = ours(builder.model(x.shape, np.float32, np.float32), choice, x=x)
    np.testing.assert_array_equal(found, (sums * (0.03 * unit * steps)).astype(np.float32))

    builder = Builder(rng)
    builder.node("MatMul", ["x", "x"], "y")
    square = rng.standard_normal((3, 9, 9)).astype(np.float32)
    found = ours(builder.model(square.shape, np.float32, np.float32), choice, x=square)
    for one, result in zip(square, found, strict=True):
        sums = exact((a_name, b_name), encode(a_fmt, one, 0.03), encode(b_fmt, one, 0.05))
        np.testing.assert_array_equal(result, (sums * (0.03 * unit * 0.05)).astype(np.float32))


def test_nan_is_refused() -> None:
    builder = Builder(np.random.default_rng(1))
    builder.node("MatMul", ["x", builder.constant(np.ones((3, 2)))], "y")
    x = np.array([[1, np.nan, 2]], np.float32)
    proto = builder.model(x.shape, np.float32, np.float32)
    with pytest.raises(ValueError, match="MatMul 'MatMul_y': operands must be numbers, not NaN"):
        ours(proto, Choice(a="int8", b="int8", a_step=1.0), x=x)


@pytest.mark.parametrize("name", NAMES)
def test_steps_are_nearly_the_best(name: str) -> None:
    """Within 1.5 dB of the least squared error of four hundred steps."""
    fmt, rng = TARGET.formats[name], np.random.default_rng(3)
    values = np.stack(
        [
            rng.standard_normal(300),
            rng.laplace(size=300) * 1e-3,
            rng.uniform(0, 50, 300),
            np.zeros(300),
        ],
        axis=1,
    )

    def errors(steps: np.ndarray) -> np.ndarray:
        found = fmt.to_float(encode(fmt, values, steps)) * steps
        return ((found - values) ** 2).sum(axis=0)

    steps = steps_of(fmt, values)
    assert steps[3] == 1
    greatest = np.abs(values).max(axis=0) / (max(fmt.bounds) * 2.0**fmt.lsb)
    greatest[3] = 1
    grid = [errors(greatest * factor) for factor in np.geomspace(1 / 8, 512, 400)]
    assert (errors(steps) <= 10**0.15 * np.min(grid, axis=0)).all()
    assert (errors(steps) <= errors(greatest)).all()


@pytest.mark.prove
def test_every_pair_on_the_simulated_block(tmp_path: Path) -> None:
    """Words of one and of two codes, half bytes, sums and codes; by the driver."""
    names = "int8", "int4", "e2m1", "e4m3"
    design = Design(
        "coprocessor",
        {
            "engine": f"npe(m=2,n=2,formats={','.join(names)})",
            "data_width": 64,
            "sums": 256,
            "a_bytes": 512,
            "b_bytes": 512,
        },
    )
    target = Target(design)
    rng = np.random.default_rng(7)
    works, expected = [], []
    for number, (a_name, b_name) in enumerate(target.modes):
        shape = 1 + number % 4, 5 + number % 3, 1 + number % 5
        operands = []
        for name, size in ((a_name, shape[:2]), (b_name, shape[1:])):
            fmt = target.formats[name]
            operands.append(rng.integers(fmt.low, fmt.high, size, endpoint=True))
        works.append(Work(a=operands[0], b=operands[1], mode=target.modes[a_name, b_name]))
        expected.append(exact((a_name, b_name), *operands))
    both = target.modes["int8", "int8"]
    a, b = (rng.integers(-128, 128, shape) for shape in ((4, 9), (9, 5)))
    bias = rng.integers(-1000, 1000, 5)
    how = Requantisation(1 << 20, 30, 3)
    works.append(Work(a=a, b=b, bias=bias, requantisation=how, mode=both))
    sums = a @ b + bias
    expected.append(np.clip((sums * (1 << 20) + (1 << 29) >> 30) + 3, -128, 127))
    works.append(Work(a=None, b=b[:5], mode=target.modes["int8", "e4m3"]))
    works[-1] = Work(a=None, b=encode(target.formats["e4m3"], b[:5], 1.0), mode=works[-1].mode)
    expected.append(exact(("int8", "e4m3"), expected[-1], works[-1].b))
    found, _ = products.run_works(design, works, tmp_path)
    for work, result, right in zip(works, found, expected, strict=True):
        np.testing.assert_array_equal(result, right, err_msg=str(work.mode))


def floats(path: Path) -> Graph:
    builder = Builder(np.random.default_rng(2))
    builder.node("MatMul", ["x", builder.constant(np.arange(12).reshape(4, 3))], "y")
    proto = builder.model(("count", 4), np.float32, np.float32, ("count", "found"))
    onnx.save(proto, path)
    return Graph(proto)


def test_choices_come_back_from_a_model(tmp_path: Path) -> None:
    """They change nothing for onnxruntime, and take the place of those before."""
    graph = floats(tmp_path / "floats.onnx")
    choices = {"MatMul_y": Choice(a="e4m3", b="int4", a_step=0.1, b_step=3.0)}
    once = Graph(with_choices(graph, {"MatMul_y": Choice(a="int8", b="int8", a_step=1)}))
    twice = Graph(with_choices(once, choices))
    assert read(twice) == choices
    assert read(graph) == {}
    x = np.ones((2, 4), np.float32)
    np.testing.assert_array_equal(
        Oracle(twice, {}).run({"x": x})["y"], Oracle(graph, {}).run({"x": x})["y"]
    )


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ("{", "cannot be read"),
        ("[]", "cannot be read"),
        ('{"MatMul_y": {"a": "int8"}}', "cannot be read"),
        ('{"nobody": {"a": "int8", "b": "int8", "a_step": 1}}', "names no node: 'nobody'"),
        ('{"MatMul_y": {"a": "int3", "b": "int8", "a_step": 1}}', "must have the format int3"),
    ],
)
def test_wrong_choices_are_refused(run: Any, tmp_path: Path, entry: str, says: str) -> None:
    graph = floats(tmp_path / "floats.onnx")
    graph.proto.metadata_props.add(key="carrysave.precision", value=entry)
    onnx.save(graph.proto, tmp_path / "chosen.onnx")
    np.save(tmp_path / "x.npy", np.ones((2, 4), np.float32))
    found = run(
        "run",
        tmp_path / "chosen.onnx",
        "--input",
        tmp_path / "x.npy",
        "-p",
        "engine=npe",
        "--energy",
        "none",
        "--simulate",
        "none",
    )
    assert found.code == 2
    assert says in found.err


def test_engine_of_integers_has_no_formats(run: Any, tmp_path: Path) -> None:
    graph = floats(tmp_path / "floats.onnx")
    choices = {"MatMul_y": Choice(a="int8", b="int8", a_step=1)}
    onnx.save(with_choices(graph, choices), tmp_path / "chosen.onnx")
    np.save(tmp_path / "x.npy", np.ones((2, 4), np.float32))
    found = run("run", tmp_path / "chosen.onnx", "--input", tmp_path / "x.npy", "--energy", "none")
    assert found.code == 2
    assert "the engine must have the format int8; it has integers alone" in found.err
    assert not json.loads(found.out or "{}")
