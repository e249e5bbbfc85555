"""Proofs of Laconic's parts: a lane gives all of a product, the reduction adds up all lanes."""

import itertools

import pytest
from amaranth import C, Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import data

from golden.pe.laconic import LaconicSpec
from hw.pe.laconic import Laconic, Reduction
from hw.pe.laconic_lane import Lane, TermPair
from verif.support.cases import long
from verif.support.formal import holds

SIGNS = list(itertools.product([True, False], repeat=2))
WIDE = 16
"""Bits in which proofs compute; more than any of their numbers needs."""


def value(pair: data.View) -> Value:
    """Return the number that a pair stands for."""
    places = pair.shape().places
    none, at_most_one = pair.twos
    magnitude = Mux(none, 1, Mux(at_most_one, 2, 4)) << 2 * pair.place
    number = Mux(pair.negative, -magnitude, magnitude)[:WIDE].as_signed()
    return Mux(pair.place < places, number, 0)


def lane_holds(spec: LaconicSpec, pairs: int, *, slip: int = 0) -> bool:
    """Prove that the pairs after a load add up to a b, and are `pairs` at most."""
    window = pairs + 2

    def claim(m: Module, a: Signal, b: Signal, load: Signal, use: Signal) -> Value:
        m.submodules.lane = lane = Lane(spec)
        loaded = load & lane.done
        m.d.comb += [lane.en.eq(1), lane.load.eq(loaded)]
        m.d.comb += [lane.a.eq(a), lane.b.eq(b), lane.use.eq(use)]
        # In the first cycle after a load the last pair from before is on the output.
        since = Signal(range(window + 2))
        total, expected = Signal(signed(WIDE)), Signal(signed(WIDE))
        m.d.sync += total.eq(Mux(since == 1, slip, total + value(lane.o)))
        with m.If(loaded):
            left = a.as_signed() if spec.a_signed else a
            right = b.as_signed() if spec.b_signed else b
            m.d.sync += [since.eq(1), expected.eq(Mux(use, left * right, 0))]
        with m.Elif(since <= window):
            m.d.sync += since.eq(since + 1)
        return (since != window) | ((total == expected) & lane.done)

    return holds(claim, spec.a_width, spec.b_width, 1, 1, cycles=window + 1)


def reduction_holds(spec: LaconicSpec, pipeline: int, *, slip: int = 0) -> bool:
    """Prove sum' = (done ? 0 : sum) + all pairs, from any state."""

    def claim(m: Module, places: Signal, twos: Signal, negative: Signal, clear: Signal) -> Value:
        m.submodules.reduction = reduction = Reduction(spec, pipeline)
        layout = TermPair(spec)
        total = Signal(spec.accumulator_width)
        expected = Signal(spec.accumulator_width)
        m.d.comb += [reduction.en.eq(1), reduction.i_clear.eq(clear)]
        for lane in range(spec.k):
            pair = reduction.i[lane]
            none, at_most_one = twos.word_select(lane, 2)
            m.d.comb += [
                pair.place.eq(places.word_select(lane, len(pair.place))),
                pair.twos.eq(Cat(none & at_most_one, at_most_one)),
                pair.negative.eq(negative[lane]),
            ]
        pairs: Value = sum((value(reduction.i[lane]) for lane in range(spec.k)), C(slip))
        for _ in reduction.cuts:
            late = Signal(signed(WIDE))
            m.d.sync += late.eq(pairs)
            pairs = late
        columns = reduction.layout.columns(reduction.o)
        m.d.comb += total.eq(
            sum((bit << weight for weight, column in enumerate(columns) for bit in column), C(0))
        )
        m.d.sync += expected.eq(Mux(reduction.o_done, 0, total) + pairs)
        assert len(reduction.cuts) == pipeline
        assert layout.top == 2 * layout.places  # else some inputs were no pairs
        return total == expected

    width = TermPair(spec).places.bit_length()
    return holds(claim, width * spec.k, 2 * spec.k, spec.k, 1, cycles=1 + pipeline)


@pytest.mark.sample(3)
@pytest.mark.parametrize(("a_signed", "b_signed"), SIGNS)
@pytest.mark.parametrize(("a_width", "b_width"), [(4, 4), (2, 5), (5, 2)])
def test_lane_gives_the_product(a_width: int, b_width: int, a_signed: bool, b_signed: bool) -> None:
    spec = LaconicSpec(a_width=a_width, b_width=b_width, a_signed=a_signed, b_signed=b_signed)
    most = [
        (width + 1) // 2 if is_signed else width // 2 + 1
        for width, is_signed in ((a_width, a_signed), (b_width, b_signed))
    ]
    assert lane_holds(spec, most[0] * most[1])


@pytest.mark.parametrize(("slip", "pairs"), [(1, 4), (0, 3)])
def test_lane_proof_can_fail(slip: int, pairs: int) -> None:
    assert not lane_holds(LaconicSpec(a_width=4, b_width=4), pairs, slip=slip)


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("k", "pipeline", "width"),
    [
        *((1, 0, 7), (2, 0, 12), (3, 0, 7), (3, 1, 12)),
        *long([(1, 0, 12), (2, 0, 7), (3, 0, 12), (3, 1, 7)]),
    ],
)
def test_reduction_adds_up_all_pairs(k: int, pipeline: int, width: int) -> None:
    spec = LaconicSpec(k=k, a_width=4, b_width=4, accumulator_width=width)
    assert reduction_holds(spec, pipeline)


@pytest.mark.parametrize("pipeline", [0, 1])
def test_reduction_proof_can_fail(pipeline: int) -> None:
    spec = LaconicSpec(k=3, a_width=4, b_width=4, accumulator_width=12)
    assert not reduction_holds(spec, pipeline, slip=1)


def test_laconic_rejects_wrong_kind() -> None:
    with pytest.raises(TypeError, match="spec must be a LaconicSpec, not 8"):
        Laconic(8)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"pipeline must be 0\.\.4, not True"):
        Laconic(LaconicSpec(), pipeline=True)


def test_laconic_rejects_out_of_range() -> None:
    with pytest.raises(ValueError, match=r"pipeline must be 0\.\.4, not 5"):
        Laconic(LaconicSpec(), pipeline=5)
