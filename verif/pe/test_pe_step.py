"""Proof of the step of each processing element: the sum, cleared or kept, plus the product."""

import itertools
from typing import Any

import pytest
from amaranth import C, Module, Mux, Signal, Value

from golden.pe.mac import MacSpec
from hw.pe.cell import PeCell
from hw.pe.mac import MacCell
from hw.pe.opt1 import Opt1Cell
from verif.formal import holds

CELLS: dict[str, type[PeCell]] = {"mac": MacCell, "opt1": Opt1Cell}
SIGNS = list(itertools.product([True, False], repeat=2))


def step_holds(kind: str, spec: MacSpec, *, slip: int = 0, **hows: Any) -> bool:
    """Prove sum' = (done ? 0 : sum) + a b from any state, with any enable; `slip` falsifies it."""

    def claim(m: Module, a: Signal, b: Signal, clear: Signal, enable: Value) -> Value:
        m.submodules.pe = pe = CELLS[kind](spec, **hows)
        if pe.pipeline:
            enable = C(1, 1)  # else the product's registers here and there may differ at first
        m.d.comb += [pe.i_a.eq(a), pe.i_b.eq(b), pe.i_clear.eq(clear), pe.en.eq(enable)]
        width = spec.accumulator_width
        total, expected, product = Signal(width), Signal(width), Signal(width)
        m.d.comb += total.eq(pe.o.sum + pe.layout.carry_row(pe.o))
        left = a.as_signed() if spec.a_signed else a
        right = b.as_signed() if spec.b_signed else b
        if pe.pipeline:
            m.d.sync += product.eq(Mux(enable, left * right, product))
        else:
            m.d.comb += product.eq(left * right)
        after = Mux(pe.o_done, 0, total) + product + C(slip, 2)
        m.d.sync += expected.eq(Mux(enable, after, total))
        return total == expected

    return holds(claim, spec.a_width, spec.b_width, 1, 1, cycles=1 + hows.get("pipeline", 0))


@pytest.mark.parametrize("kind", CELLS)
@pytest.mark.parametrize(("a_signed", "b_signed"), SIGNS)
@pytest.mark.parametrize("encoding", ["booth", "ent", "none"])
@pytest.mark.parametrize("pipeline", [0, 1])
def test_pe_step(kind: str, a_signed: bool, b_signed: bool, encoding: str, pipeline: int) -> None:
    spec = MacSpec(a_width=4, b_width=4, a_signed=a_signed, b_signed=b_signed, accumulator_width=11)
    assert step_holds(kind, spec, encoding=encoding, pipeline=pipeline)


@pytest.mark.parametrize("kind", CELLS)
@pytest.mark.parametrize(("a_width", "b_width", "width"), [(2, 2, 4), (5, 2, 6), (3, 5, 14)])
def test_pe_step_odd_widths(kind: str, a_width: int, b_width: int, width: int) -> None:
    assert step_holds(kind, MacSpec(a_width=a_width, b_width=b_width, accumulator_width=width))


@pytest.mark.parametrize("kind", CELLS)
@pytest.mark.parametrize("pipeline", [0, 1])
def test_pe_step_proof_can_fail(kind: str, pipeline: int) -> None:
    spec = MacSpec(a_width=3, b_width=3, accumulator_width=8)
    assert not step_holds(kind, spec, slip=1, pipeline=pipeline)


def test_opt1_keeps_few_carries() -> None:
    """For int8 and 32 bits: a third of a carry row, and a full one is never needed."""
    carries = Opt1Cell(MacSpec()).layout.carries
    assert 0 < len(carries) <= 12


@pytest.mark.parametrize("kind", CELLS)
def test_pe_cell_rejects_wrong_kind(kind: str) -> None:
    with pytest.raises(TypeError, match="spec must be a MacSpec, not 8"):
        CELLS[kind](8)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"pipeline must be 0\.\.1, not True"):
        CELLS[kind](MacSpec(), pipeline=True)


@pytest.mark.parametrize("kind", CELLS)
def test_pe_cell_rejects_out_of_range(kind: str) -> None:
    with pytest.raises(ValueError, match=r"pipeline must be 0\.\.1, not 2"):
        CELLS[kind](MacSpec(), pipeline=2)
    with pytest.raises(
        ValueError, match="encoding must be one of booth, ent, none, operator, not 'x'"
    ):
        CELLS[kind](MacSpec(), encoding="x")
