"""Two formats along K: against numpy, in bytes, in batches, and how columns are chosen."""

import json
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.lowered import golden
from carrysave.compiler.lowered.encoded import Choice, Split
from carrysave.compiler.lowered.evaluate import evaluate
from carrysave.compiler.lowered.operands import Operands
from carrysave.compiler.lowered.split_product import shares_of
from carrysave.compiler.passes.floats import read, with_choices
from carrysave.compiler.passes.pipeline import lower
from carrysave.compiler.passes.refusals import RefusedError
from carrysave.compiler.program.cost import spent
from carrysave.compiler.run.alone import of_work, product_job
from carrysave.compiler.target.target import Target
from carrysave.compiler.timing.blocks import planned
from carrysave.driver.batch import Work, run
from carrysave.precision.layers import Layer
from carrysave.precision.splits import SplitFormats
from hw.catalog import Design
from scripts.language.split_products import SplitRounded, split_pair
from verif.networks.graphs import Builder
from verif.soc.driver.driver_rig import RNG, Rig

ENGINE = "npe(m=2,n=2,formats=int8,int4)"
TARGET = Target(Design("coprocessor", {"engine": ENGINE, "row_factors": True}))
WIDE, NARROW = ("int8", "int8"), ("int4", "int4")
SPLIT = Split(columns=(1, 4, 9), a="int8", b="int8", a_step=0.5, factor=3000)
CHOICE = Choice(a="int4", b="int4", a_step=0.125, split=SPLIT)


def multiply(product: Operands, a: np.ndarray, b: np.ndarray | None) -> np.ndarray:
    return golden.product(TARGET.spec, product.compile(TARGET, a, b, in_hardware=False))


def model(kind: str, shape: tuple[int, ...], **attributes: Any) -> tuple[Any, np.ndarray]:
    """Make a product of 12 rows of weights, all of them quarters of -8..7 but for three rows."""
    rng = RNG(len(kind))
    weights = rng.integers(-8, 8, (12, 5)) / 4
    weights[0] = -2  # the scale of each column is found again
    weights[list(SPLIT.columns)] = rng.integers(-9, 10, (3, 5)) / 16
    builder = Builder(rng)
    given = weights.T if attributes.get("transB") else weights
    inputs = ["x", builder.constant(given)]
    if kind == "Gemm":
        inputs.append(builder.constant(np.arange(5) / 8))
    builder.node(kind, inputs, "y", **attributes)
    return builder.model(shape, np.float32, np.float32), weights


def rounded(values: np.ndarray, bits: int) -> np.ndarray:
    half = 1 << bits - 1
    return np.clip(np.rint(values), -half, half - 1).astype(np.int64)


@pytest.mark.parametrize(
    ("kind", "shape", "attributes"),
    [
        ("MatMul", (7, 12), {}),
        ("MatMul", (2, 3, 12), {}),
        ("Gemm", (12, 4), {"transA": 1, "transB": 1, "alpha": 0.5}),
    ],
)
def test_is_exact_but_for_one_rounding(
    kind: str, shape: tuple[int, ...], attributes: dict[str, Any]
) -> None:
    """The outliers' sums are rounded to units of the rest's, halves up."""
    proto, weights = model(kind, shape, **attributes)
    graph, x = Graph(proto), RNG(2).normal(0, 1, shape).astype(np.float32)
    outliers: Any = (list(SPLIT.columns), ...) if attributes else (..., list(SPLIT.columns))
    x[outliers] *= 40
    (node,) = graph.nodes
    found = evaluate(lower(graph, TARGET, {node.name: CHOICE}), {"x": x}, multiply)["y"]
    a = (x.T if attributes.get("transA") else x).reshape(-1, 12).astype(np.float64)
    columns, rest = list(SPLIT.columns), [0, 2, 3, 5, 6, 7, 8, 10, 11]
    step = 0.25 * 3000 / 32768 * 0.125 / 0.5
    wide = rounded(a[:, columns] / 0.5, 8) @ rounded(weights[columns] / step, 8)
    sums = rounded(a[:, rest] / 0.125, 4) @ rounded(weights[rest] / 0.25, 4)
    first = [[(int(one) * 3000 + 16384) // 32768 for one in row] for row in wide]
    due = (np.array(first) + sums) * (attributes.get("alpha", 1) * 0.125 * 0.25)
    due += np.arange(5) / 8 if kind == "Gemm" else 0
    np.testing.assert_array_equal(found.reshape(-1, 5), due.astype(np.float32))
    assert np.abs(wide).max() > 8192  # 1 more of the factor is 1 more of many sums


def works(rng: np.random.Generator, m: int = 9, n: int = 8) -> list[Work]:
    """Draw both jobs of a product."""
    made = list[Work]()
    for pair, k in ((WIDE, 3), (NARROW, 12)):
        a, b = (TARGET.formats[name] for name in pair)
        made.append(
            Work(
                a=rng.integers(a.low, a.high + 1, (m, k)),
                b=rng.integers(b.low, b.high + 1, (k, n)),
                mode=TARGET.modes[pair],
                row_factors=rng.integers(0, 1 << 16, m) if made else None,
            )
        )
    return made


def test_job_that_goes_on_is_goldens_in_bytes() -> None:
    """All of it, its first rows, and some of its columns."""
    pair = works(RNG(3))
    alone = replace(pair[1], row_factors=None)
    existing, due = golden.run(TARGET.spec, pair)
    assert (due != golden.run(TARGET.spec, [alone])[0]).all()
    one = of_work("it", pair[1], TARGET, existing)
    assert np.array_equal(one.golden(TARGET), one.bytes_of(due, TARGET))
    few = one.some_rows(2, 4, TARGET)
    assert np.array_equal(few.golden(TARGET), one.bytes_of(due[2:6], TARGET))
    across = one.some_columns(4, 4, TARGET)
    assert np.array_equal(across.golden(TARGET), one.bytes_of(due[:, 4:], TARGET))


def test_existing_c_is_read_in_the_cost_model() -> None:
    """Its bytes and cycles, 9 rows of 8 sums of 8 bytes; blocks are chosen for each by itself."""
    short = replace(works(RNG(3))[1], a=np.ones((9, 2), np.int64), b=np.ones((2, 8), np.int64))
    alone = replace(short, row_factors=None)
    more, less, again = (
        spent(planned(product_job(one, TARGET), TARGET), TARGET) for one in (short, alone, short)
    )
    assert more == again
    assert more.moved - less.moved == 9 * 64
    assert more.least - less.least >= 9 * 64 / TARGET.spec.bytes
    assert more.cycles - less.cycles >= 9 * 64 / TARGET.spec.bytes


@pytest.mark.parametrize("one_start", [False, True], ids=["one by one", "one start"])
def test_batch_goes_on_with_sums(one_start: bool) -> None:
    pair = works(RNG(4))
    due = golden.run(TARGET.spec, pair)
    device = Rig("python", None, TARGET.spec).open()
    made, _ = run(device, [*pair, *pair], one_start=one_start)
    np.testing.assert_array_equal(made[1], due[1])
    np.testing.assert_array_equal(made[3], due[1])
    np.testing.assert_array_equal(made[0], due[one_start])


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"columns": ()}, "columns must be one or more"),
        ({"columns": (3, 1)}, "columns must be one or more, 0 or greater, rising"),
        ({"columns": (1, 1)}, "rising"),
        ({"columns": (-1, 2)}, "0 or greater"),
        ({"columns": (0.5,)}, "columns and factor must be integers"),
        ({"factor": 0}, r"factor must be 1\.\.65535, not 0"),
        ({"factor": 1 << 16}, r"factor must be 1\.\.65535, not 65536"),
        ({"a_step": 0.0}, "a_step must be finite and greater than 0"),
        ({"a": 8}, "a must be the name of a format"),
    ],
)
def test_splits_are_checked(change: dict[str, Any], says: str) -> None:
    with pytest.raises((TypeError, ValueError), match=says):
        Split(**{**vars(SPLIT), **change})


@pytest.mark.parametrize(
    ("engine", "factors", "columns", "says"),
    [
        (ENGINE, True, (3, 12), r"must be some of 0\.\.11, not all of them"),
        (ENGINE, True, tuple(range(12)), "not all of them"),
        (ENGINE, False, (3,), "row_factors must be true for two formats along K"),
        ("npe(m=2,n=2,formats=int8)", True, (3,), "the engine must have the format int4"),
        (
            "npe(m=1,n=2,formats=int8,int4,accumulator_width=17)",
            True,
            (1, 3, 5, 7, 9),
            "K in int8 x int8 must be",
        ),
    ],
)
def test_what_cannot_be_split_is_refused(
    engine: str, factors: bool, columns: tuple[int, ...], says: str
) -> None:
    target = Target(Design("coprocessor", {"engine": engine, "row_factors": factors}))
    graph = Graph(model("MatMul", (7, 12))[0])
    split = Split(**{**vars(SPLIT), "columns": columns})
    choice = Choice(a="int4", b="int4", a_step=1.0, split=split)
    with pytest.raises(RefusedError, match=says):
        lower(graph, target, {graph.nodes[0].name: choice})


def test_split_of_a_computed_b_is_refused() -> None:
    builder = Builder(RNG(1))
    builder.node("MatMul", ["x", "x"], "y")
    graph = Graph(builder.model((12, 12), np.float32, np.float32))
    with pytest.raises(RefusedError, match="for matrix products with constant weights"):
        lower(graph, TARGET, {"MatMul_y": CHOICE})


def test_choice_comes_back_from_a_model() -> None:
    graph = Graph(model("MatMul", (7, 12))[0])
    twice = Graph(with_choices(graph, {"MatMul_y": CHOICE}))
    assert read(twice) == {"MatMul_y": CHOICE}
    assert CHOICE.formats == "int4 x int4 + int8 x int8"
    (product,) = lower(twice, TARGET).products
    assert shares_of(product) == {"int4 x int4": 0.75, "int8 x int8": 0.25}
    entry = json.loads(twice.proto.metadata_props[0].value)["MatMul_y"]
    assert entry["split"]["columns"] == [1, 4, 9]


@pytest.mark.parametrize("share", ["1/8", "1/3"])
def test_choice_has_the_columns_of_the_greatest_magnitudes(share: str) -> None:
    """And of the scales that are tried that with the least error of their weights."""
    rng, graph = RNG(5), Graph(model("MatMul", (7, 12))[0])
    weights = rng.normal(0, 0.1, (24, 6)).astype(np.float32)
    a = rng.normal(0, 1, (50, 24)).astype(np.float32)
    a[:, [2, 3, 20]] *= 30
    layer = Layer(node=graph.nodes[0], a=[a[:20], a[20:]], b=[], weights=weights)
    formats = SplitFormats(
        wide="int8", narrow="int4", share=Fraction(share), wide_b="int8", grain=2
    )
    choice = formats.choice(layer, TARGET.formats)
    assert choice is not None
    assert choice.split is not None
    columns = choice.split.columns
    assert len(columns) == {"1/8": 4, "1/3": 8}[share]
    greatest = np.argsort(-np.abs(a).max(axis=0))[: len(columns)]
    assert set(columns) == set(greatest.tolist()) >= {2, 3, 20}
    # Of the rest of A nothing is clipped by much, and its step is not that of the outliers.
    rest = np.delete(a, columns, axis=1)
    assert np.abs(rest).max() / 16 < choice.a_step < np.abs(rest).max() / 4
    assert choice.a_step < np.abs(a).max() / 40
    # Weights of 8 bits: their step is a fraction of that of 4 bits.
    assert 1 / 64 < choice.split.b_ratio(choice.a_step) < 1 / 4
    assert layer.chosen_bits(choice, lambda pair: 8 if pair == WIDE else 4) == 6 * (
        8 * len(columns) + 4 * (24 - len(columns))
    )


def test_language_models_are_split_alike() -> None:
    """Products outside of graphs: outliers of activations cost int4 its steps."""
    rng, formats = RNG(6), {name: TARGET.formats[name] for name in ("int8", "int4")}
    weights, rows = rng.normal(0, 0.1, (64, 9)), rng.normal(0, 1, (40, 64))
    rows[:, [3, 17, 40]] *= 40
    rounded = SplitRounded({"a": weights}, {"a": rows}, formats)
    pairs = NARROW, split_pair(Fraction(1, 8))
    errors = [np.square(rounded.product("a", pair, rows) - rows @ weights).sum() for pair in pairs]
    assert errors[1] < errors[0] / 20
