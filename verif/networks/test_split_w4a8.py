"""Two formats along K where lanes multiply int8 by int4 at two products a beat."""

from pathlib import Path

import numpy as np
import pytest

from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.lowered import golden
from carrysave.compiler.passes.pipeline import lower
from carrysave.compiler.target.target import Target
from carrysave.driver.batch import Work
from carrysave.precision.layers import Layer
from carrysave.precision.splits import splits_of
from carrysave.sim import products
from hw.catalog import Design
from verif.networks.test_split_k import ENGINE, NARROW, TARGET, model
from verif.soc.driver.driver_rig import RNG

WIDE = ("int8", "int4")
FAST = Target(
    Design("coprocessor", {"engine": ENGINE.replace(")", ",w4a8=true)"), "row_factors": True})
)


def test_rows_of_outliers_have_the_narrow_format_where_that_is_faster() -> None:
    """Weights have 4 bits throughout; both jobs are two codes a word."""
    (plain,) = splits_of(["1/3"], TARGET, list(TARGET.formats)).values()
    formats, slow = splits_of(["1/3"], FAST, list(FAST.formats)).values()
    assert slow == plain
    assert (plain.wide_b, plain.pair[0]) == ("int8", "int4 + 1/3 int8")
    assert (formats.wide_b, formats.pair[0]) == ("int4", "int4 + 1/3 int8 x int4")
    proto, weights = model("MatMul", (7, 12))
    graph, x = Graph(proto), RNG(2).normal(0, 1, (7, 12)).astype(np.float32)
    x[:, [1, 4, 9, 10]] *= 40
    layer = Layer(node=graph.nodes[0], a=[x], b=[], weights=weights)
    choice = formats.choice(layer, FAST.formats)
    assert choice is not None
    assert choice.pairs == [NARROW, ("int8", "int4")]
    assert layer.chosen_bits(choice, lambda pair: FAST.formats[pair[1]].width) == 4 * 12 * 5
    (product,) = lower(graph, FAST, {layer.node.name: choice}).products
    works = product.compile(FAST, x, None, in_hardware=True).works
    assert [work.mode for work in works] == [FAST.modes[WIDE], FAST.modes[NARROW]]
    assert {FAST.modes[pair].codes for pair in (WIDE, NARROW)} == {2}
    found = golden.product(FAST.spec, product.compile(FAST, x, None, in_hardware=False))
    error = np.abs(found - x @ weights).max()
    assert error < 0.1 * np.abs(x @ weights).max()


def works(m: int, k: tuple[int, int], n: int) -> list[Work]:
    """Draw both jobs of a product, with a factor for each row."""
    rng, made = RNG(7), list[Work]()
    for pair, size in zip((WIDE, NARROW), k, strict=True):
        a, b = (FAST.formats[name] for name in pair)
        made.append(
            Work(
                a=rng.integers(a.low, a.high + 1, (m, size)),
                b=rng.integers(b.low, b.high + 1, (size, n)),
                mode=FAST.modes[pair],
                row_factors=rng.integers(0, 1 << 16, m) if made else None,
            )
        )
    return made


def due(both: list[Work]) -> np.ndarray:
    """Multiply with numpy; the first sums are rounded once, halves up."""
    first, second = (np.asarray(work.a, np.int64) @ np.asarray(work.b) for work in both)
    assert both[1].row_factors is not None
    return (first * both[1].row_factors[:, None] + (1 << 14) >> 15) + second


def test_golden_goes_on_in_the_other_format() -> None:
    both = works(5, (7, 12), 6)
    assert np.array_equal(golden.run(FAST.spec, both)[-1], due(both))


@pytest.mark.prove
def test_both_jobs_on_the_block(tmp_path: Path) -> None:
    """In one start; beats of the array are those of int4 throughout."""
    both = works(5, (7, 12), 6)
    results, (counters,) = products.run_works(FAST.design, both, tmp_path, one_start=True)
    assert np.array_equal(results[-1], due(both))
    assert counters["compute"] == 3 * 3 * (4 + 6)
