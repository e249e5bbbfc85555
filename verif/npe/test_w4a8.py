"""Lanes that multiply int8 by int4 at two products a beat: words, proof, arrays."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from amaranth import C, Cat, Module, Signal, Value

from carrysave.sim.runner import verify
from golden.npe.npe import NpeSpec, cycles, npe, pack
from golden.npe.sl8 import Sl8Spec, sl8
from hw.catalog import Design
from hw.npe.lane.lane8 import Lane8
from verif.npe.test_sl8_prove import reference
from verif.support.cases import case_name
from verif.support.formal import holds

FORMATS = "int8,int4"
SPEC = Sl8Spec(formats=FORMATS, accumulator_width=24, w4a8=True)
INT8, INT4 = range(2)


def signed(codes: np.ndarray, width: int) -> np.ndarray:
    """Read two's complement codes from the low bits of words."""
    codes = codes & (1 << width) - 1
    return codes - (codes >> width - 1 << width)


@pytest.mark.parametrize(
    ("pair", "slots"),
    [((INT8, INT8), 1), ((INT8, INT4), 2), ((INT4, INT8), 1), ((INT4, INT4), 2)],
)
def test_words_are_slots_of_8_bits(pair: tuple[int, int], slots: int) -> None:
    """Sums of random words, from their bits: those above a code in its slot are ignored."""
    a, b = np.random.default_rng(slots).integers(0, 1 << 16, (2, 3000))
    last = np.arange(3000) % 3 == 2
    sums, invalid, overflow = sl8(SPEC, a, b, *pair, last)
    widths = [(8, 4)[index] for index in pair]
    due = sum(
        signed(a >> 8 * slot, widths[0]) * signed(b >> 8 * slot, widths[1]) for slot in range(slots)
    )
    assert sums.tolist() == np.reshape(due, (-1, 3)).sum(axis=1).tolist()
    assert not (invalid | overflow).any()
    assert SPEC.codes(*pair) == slots
    assert SPEC.pitch(*pair) == 16 // slots


def test_array_takes_half_the_beats() -> None:
    """Of int8 by int8; and as many as of int4 by int4."""
    rng = np.random.default_rng(1)
    a, b = rng.integers(-128, 128, (2, 40)), rng.integers(-8, 8, (40, 3))
    taken = {}
    for w4a8 in (False, True):
        spec = NpeSpec(m=2, n=3, formats=FORMATS, w4a8=w4a8)
        assert np.array_equal(npe(spec, a, b, INT8, INT4)[0], a @ b)
        for pair in ((INT8, INT4), (INT4, INT4)):
            words = pack(spec, a if pair[0] == INT8 else a >> 4, b, *pair)
            taken[w4a8, pair] = cycles(spec, [words], 5, [pair])
    assert taken[False, (INT8, INT4)] - taken[True, (INT8, INT4)] == 20
    assert taken[True, (INT8, INT4)] == taken[True, (INT4, INT4)] == taken[False, (INT4, INT4)]


@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        ({"formats": "int8,e2m1"}, "w4a8 must be false without int8 and int4, not True"),
        ({"formats": "int4"}, "w4a8 must be false without int8 and int4"),
        ({"formats": FORMATS, "lane": "sl16"}, "w4a8 must be false but with lane sl8, not with 's"),
        ({"formats": FORMATS, "zeros": True}, "with zeros, in lane sl8, not int8,int4 in words of"),
    ],
)
def test_spec_rejects(parameters: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        NpeSpec(w4a8=True, **parameters)


def test_operands_have_a_second_code_where_it_is_used() -> None:
    """Nine bits of A: both nibbles that B's upper one is multiplied by, and whether they are."""
    plain = Lane8(Sl8Spec(formats=FORMATS))
    lane = Lane8(SPEC)
    assert len(lane.i_a) == len(plain.i_a) + 9
    assert len(lane.i_b) == len(plain.i_b)


def product_holds(slot: int, slip: int = 0) -> bool:
    """Prove what a sum of zero becomes of an int8 code in a slot, by any two codes of int4."""
    lane = Lane8(SPEC, accumulation="resolved", adder="ripple")
    width = SPEC.accumulator_width

    def claim(m: Module, code: Signal, b: Signal) -> Value:
        a = Cat(code, C(0, 8)) if slot == 0 else Cat(C(0, 8), code)
        mode, _ = lane.mode(m, C(INT8, 1), C(INT4, 1), C(1, 1))
        x, y = Signal(len(lane.i_a)), Signal(len(lane.i_b))
        word = Cat(b[:4], C(0, 4), b[4:], C(0, 4))
        m.d.comb += [
            x.eq(lane.encode_a(m, a, C(INT8, 1), mode)[0]),
            y.eq(lane.encode_b(m, word, C(INT4, 1), mode)[0]),
        ]
        zeros: list[list[Value]] = [[C(0, 1)]] * width
        rows = lane.step(m, C(1, 1), x, y, zeros)
        total, due = Signal(width, name="total"), Signal(width, name="due")
        m.d.comb += total.eq(Cat(row[0] for row in rows))
        m.d.comb += due.eq(reference(m, SPEC, (INT8, INT4), (a, word)) + slip)
        return total == due

    return holds(claim, 8, 8)


@pytest.mark.prove
@pytest.mark.parametrize("slot", range(2))
def test_lane_makes_the_product_of_each_slot(slot: int) -> None:
    assert product_holds(slot)
    assert not product_holds(slot, slip=1)


CASES: list[tuple[str, dict[str, Any]]] = [
    ("sl8", {"formats": FORMATS, "accumulator_width": 20}),
    ("npe", {"m": 2, "n": 3, "formats": FORMATS, "accumulator_width": 24}),
]
MORE: list[tuple[str, dict[str, Any]]] = [
    ("sl8", {"formats": "int8,int4,e2m1,posit4e1,e4m3", "pipeline": 3}),
    ("sl8", {"formats": "int8,int4,posit8e0", "accumulation": "gated", "pipeline": 4}),
    ("npe", {"m": 3, "n": 2, "formats": "int8,int4,e4m3", "pipeline": 2, "result": "e4m3"}),
    (
        "npe",
        {"m": 2, "n": 2, "formats": FORMATS, "result": "fp32", "scale": "e8m0", "block": 4},
    ),
]


def named(case: tuple[str, dict[str, Any]]) -> str:
    """Name a case."""
    return f"{case[0]} {case_name(case[1])}"


@pytest.mark.parametrize("case", CASES, ids=named)
def test_rtl_matches_golden(case: tuple[str, dict[str, Any]], tmp_path: Path) -> None:
    """All pairs of codes in each slot of a lane, under stalls; tiles of an array."""
    result = verify(Design(case[0], case[1] | {"w4a8": True}), directory=tmp_path)
    assert result.ok, result


@pytest.mark.prove
@pytest.mark.parametrize("case", MORE, ids=named)
def test_rtl_of_more_formats(case: tuple[str, dict[str, Any]], tmp_path: Path) -> None:
    result = verify(Design(case[0], case[1] | {"w4a8": True}), directory=tmp_path)
    assert result.ok, result
