"""Proof of the element of the weight-stationary array: weight, hop and sum after any cycle."""

import itertools

import pytest
from amaranth import C, Module, Mux, Signal, Value

from golden.pe.mac import MacSpec
from hw.arith.carry_save import CarrySave
from hw.tpe.element_choice import make_element
from hw.tpe.weight_stationary import FirstPe, StationaryPe
from verif.support.cases import cover
from verif.support.formal import holds

SIGNS = list(itertools.product([True, False], repeat=2))


def delayed(m: Module, value: Value, cycles: int) -> Value:
    """Return a value as it was so many cycles ago."""
    for _ in range(cycles):
        late = Signal(len(value))
        m.d.sync += late.eq(value)
        value = late
    return value


def step_holds(
    kind: type[StationaryPe],
    pe: str,
    spec: MacSpec,
    encoding: str,
    *,
    pipeline: int = 0,
    upper: str = "heap",
    slip: str = "none",
) -> bool:
    """Prove one cycle from any state whose weight is the code of a number; `slip` falsifies it.

    Inputs are the code of A, the swap, the weight, the sum before, the clear and the enable.
    """
    element = make_element(
        spec, pe=pe, encoding=encoding, pipeline=pipeline, adder="sklansky", upper=upper
    )

    def claim(
        m: Module, a: Signal, swap: Signal, b: Signal, before: Signal, clear: Signal, en: Signal
    ) -> Value:
        m.submodules.pe = dut = kind(element)
        layout = dut.layout
        assert isinstance(layout, CarrySave)
        enable: Value = C(1, 1) if pipeline else en  # else registers differ at first
        m.d.comb += [
            dut.en.eq(enable),
            dut.i_a.eq(a),
            dut.i_swap.eq(swap),
            dut.i_b.eq(element.encode(m, b)),
            dut.i_sum.as_value().eq(before),
        ]
        fresh: Value = C(0, 1)
        if isinstance(dut, FirstPe):
            m.d.comb += dut.i_clear.eq(clear)
            fresh = dut.o_clear

        # What the number of the weight, and all that can be seen, must be in the next cycle.
        width = spec.accumulator_width
        weight = Signal(spec.a_width)
        known, total, entering = Signal(), Signal(width), Signal(width)
        m.d.comb += [
            known.eq(dut.weight == element.encode(m, weight)),
            total.eq(dut.o.sum + layout.carry_row(dut.o)),
            entering.eq(dut.i_sum.sum + layout.carry_row(dut.i_sum)),
        ]
        x = weight.as_signed() if spec.a_signed else weight
        y = dut.o_a.as_signed() if spec.b_signed else dut.o_a
        product = Signal(width)
        m.d.comb += product.eq(x * y)
        claims: list[tuple[Value, Value, str]] = [(dut.o_a, a, "hop"), (dut.o_swap, swap, "hop")]
        if isinstance(dut, FirstPe):
            claims.append((dut.o_clear, clear, "hop"))
        begins, added = (delayed(m, value, pipeline) for value in (fresh, product))
        claims.append((total, Mux(begins, 0, entering) + added, "sum"))
        loaded = Mux(enable & swap, b, weight) ^ C(slip == "weight", 1)
        m.d.sync += weight.eq(loaded)
        right: Value = known
        for seen, after, name in claims:
            due = Signal(len(seen))
            m.d.sync += due.eq(Mux(enable, after + C(slip == name, 1), seen))
            right = right & (seen == due)
        return ~delayed(m, known, 1 + pipeline) | right

    widths = len(element.i_b), 1, spec.a_width, element.layout.size, 1, 1
    return holds(claim, *widths, cycles=1 + pipeline)


@pytest.mark.sample(5)
@pytest.mark.parametrize(
    ("kind", "pe", "a_signed", "b_signed", "encoding"),
    cover([StationaryPe, FirstPe], ["opt1", "mac"], SIGNS, ["booth", "ent", "none"]),
)
def test_systolic_ws_step(
    kind: type[StationaryPe], pe: str, a_signed: bool, b_signed: bool, encoding: str
) -> None:
    spec = MacSpec(a_width=4, b_width=4, a_signed=a_signed, b_signed=b_signed, accumulator_width=10)
    assert step_holds(kind, pe, spec, encoding)


@pytest.mark.sample(3)
@pytest.mark.parametrize("pe", ["opt1", "mac"])
@pytest.mark.parametrize(("a_width", "b_width", "width"), [(2, 2, 4), (5, 2, 8), (3, 5, 9)])
def test_systolic_ws_step_odd_widths(pe: str, a_width: int, b_width: int, width: int) -> None:
    spec = MacSpec(a_width=a_width, b_width=b_width, accumulator_width=width)
    assert step_holds(StationaryPe, pe, spec, "booth")


@pytest.mark.sample(3)
@pytest.mark.parametrize("kind", [StationaryPe, FirstPe])
@pytest.mark.parametrize("pe", ["opt1", "mac"])
@pytest.mark.parametrize("pipeline", [1, 2])
@pytest.mark.parametrize("encoding", ["booth", "ent"])
def test_systolic_ws_step_pipelined(
    kind: type[StationaryPe], pe: str, pipeline: int, encoding: str
) -> None:
    spec = MacSpec(a_width=3, b_width=4, accumulator_width=9)
    assert step_holds(kind, pe, spec, encoding, pipeline=pipeline)


@pytest.mark.parametrize("kind", [StationaryPe, FirstPe])
@pytest.mark.parametrize("encoding", ["booth", "ent"])
def test_systolic_ws_step_with_a_counter(kind: type[StationaryPe], encoding: str) -> None:
    """Both parts of a sum that passes by move at the same time."""
    spec = MacSpec(a_width=3, b_width=3, accumulator_width=11)
    assert step_holds(kind, "opt1", spec, encoding, upper="counter")


@pytest.mark.sample(5)
@pytest.mark.parametrize("slip", ["sum", "weight", "hop"])
@pytest.mark.parametrize("kind", [StationaryPe, FirstPe])
@pytest.mark.parametrize("pipeline", [0, 1])
def test_systolic_ws_step_proof_can_fail(
    kind: type[StationaryPe], slip: str, pipeline: int
) -> None:
    spec = MacSpec(a_width=3, b_width=3, accumulator_width=8)
    assert not step_holds(kind, "opt1", spec, "booth", pipeline=pipeline, slip=slip)
