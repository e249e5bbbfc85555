"""Batches of products and vector jobs, each of which takes what the one before has made."""

import numpy as np
import pytest

from carrysave.driver import Requantisation
from carrysave.driver.batch import Rows, Work, run
from golden.npe.vector import VectorUnitSpec
from golden.npe.vector_unit import vector_unit
from verif.soc.driver.driver_checks import draw, expected, requantisation
from verif.soc.driver.driver_rig import RNG, Rig
from verif.soc.driver.test_driver_vector import ELEMENTS, UNITS, golden_of, rows_of, spec_of


def rig_of(unit: VectorUnitSpec) -> Rig:
    """Make the Python driver, the one that has batches, on a co-processor with a vector unit."""
    return Rig("python", None, spec_of(unit))


@pytest.mark.parametrize("one_start", [False, True], ids=["one by one", "one start"])
def test_batch_takes_a_softmax_without_exponents(one_start: bool) -> None:
    made = rig_of(UNITS["8 bits"])
    device, spec, rng = made.open(), made.spec, RNG(8)
    info, unit = device.info, made.spec.vector
    assert unit is not None
    how, again = requantisation(rng, spec), requantisation(rng, spec)
    queries, more = draw(rng, info.a, 6, 8), draw(rng, info.a, 5, 8)
    keys, values = draw(rng, info.b, 8, 11), draw(rng, info.b, 11, 9)
    works: list[Work | Rows] = [
        Work(a=queries, b=keys, requantisation=how),
        Rows(a=None, operation="softmax"),
        Work(a=None, b=values, requantisation=again),
        Rows(a=None, operation="layer_norm"),
        Work(a=more, b=keys),
    ]
    scores = expected(spec, queries, keys, None, how)
    shares = rows_of(unit, "softmax", scores)
    mixed = expected(spec, shares[:, :-1], values, None, again)
    right = [scores, shares, mixed, rows_of(unit, "layer_norm", mixed), expected(spec, more, keys)]
    found, counters = run(device, works, one_start=one_start)
    assert len(counters) == (1 if one_start else len(works))
    for one, other in zip(found, right, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    "first",
    [Rows(a=None, operation="softmax"), Work(a=None, b=np.ones((4, 4), np.int64))],
    ids=["rows", "product"],
)
def test_batch_must_begin_with_an_operand(first: Rows | Work) -> None:
    with pytest.raises(ValueError, match="a must be given in the first work"):
        run(rig_of(UNITS["8 bits"]).open(), [first])


def test_batch_of_requantised_rows() -> None:
    """A gate, then what it makes plus another matrix, and that times one row."""
    made = rig_of(ELEMENTS["8 bits"])
    device, unit, rng = made.open(), made.spec.vector, RNG(9)
    assert unit is not None
    number = device.info.vector.a[-1] if device.info.vector else None
    assert number is not None
    a, b, row = (draw(rng, number, rows, 13) for rows in (5, 5, 1))
    how = Requantisation(multiplier=3 << unit.reciprocal_width - 3, shift=unit.reciprocal_width)
    works = [
        Rows(a=a, operation="silu", requantisation=how),
        Rows(a=None, operation="add", b=b, requantisation=how),
        Rows(a=None, operation="multiply", b=row, requantisation=how),
    ]
    found, _ = run(device, works, one_start=True)
    to = golden_of(how, unit)
    for operation, other, codes in zip(
        ("silu", "add", "multiply"), (None, b, np.broadcast_to(row, b.shape)), found, strict=True
    ):
        right = [
            vector_unit(unit, operation, x, to, None if other is None else other[place])[0]
            for place, x in enumerate(a.astype(np.int64))
        ]
        np.testing.assert_array_equal(codes, right)
        a = codes
