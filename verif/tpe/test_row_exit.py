"""Proof of what stops an array: a large one offers the same rows in the same cycles."""

import pytest
from amaranth import C, Module, Mux, Signal, Value
from amaranth.lib import data, stream

from hw.tpe.row_exit import RowExit, is_large, near
from verif.support.formal import never

ROWS = 0b1011_0011_1000_1101
"""Which of 16 cycles of an array bring a row: with none between, with one, with several."""


def offered(m: Module, ready: Value, *, late: bool, width: int) -> stream.Interface:
    """Build an array that counts, in which some numbers are rows, and let it offer them."""
    o_c = stream.Signature(data.StructLayout({"data": width, "last": 1})).create()
    m.d.comb += o_c.ready.eq(ready)
    leaving = RowExit(m, o_c, late=late)
    number, row = Signal(4), Signal(4)
    with m.If(near(leaving.move)):
        m.d.sync += [
            number.eq(number + 1),
            row.eq(number),
            leaving.valid.eq((C(ROWS, 16) >> number)[0]),
        ]
    m.d.comb += [
        leaving.payload.data.eq(row.replicate(-(-width // 4))),
        leaving.payload.last.eq(row.all()),
    ]
    return o_c


def differs(m: Module, slip: str) -> tuple[Value, dict[str, Value]]:
    """Say whether a large array offers something else than a small one; `slip` makes it so."""
    ready = Signal()
    small = offered(m, ready, late=False, width=68)
    large = offered(m, Mux(slip == "ready", C(1, 1), ready), late=True, width=68)
    data_of = {one: Value.cast(port.payload) for one, port in (("s", small), ("l", large))}
    wrong = data_of["s"] != (data_of["l"] ^ (slip == "data"))
    return (small.valid != large.valid) | (small.valid & wrong), {"ready": ready}


@pytest.mark.parametrize("slip", ["none", "ready", "data"])
def test_large_array_offers_the_same_in_the_same_cycles(slip: str) -> None:
    """Whatever the receiver does; from reset on, and after resets at any time."""
    m = Module()
    bad, inputs = differs(m, slip)
    assert never(m, bad, inputs) == (slip == "none")


@pytest.mark.parametrize(("elements", "bits", "large"), [(64, 64, False), (256, 40, True)])
def test_size_decides(elements: int, bits: int, large: bool) -> None:
    assert is_large(elements, bits) == large
