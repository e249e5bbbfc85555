"""Proofs of the digit-serial elements: what they add up, and that their sums settle in time."""

from typing import Any

import pytest
from amaranth import C, Cat, Module, Mux, Signal, Value

from golden.pe.opt3 import Opt3Spec
from golden.pe.opt4c import Opt4cSpec
from golden.pe.opt4e import Opt4eSpec
from hw.pe.digit_elements import DigitElements
from hw.pe.digit_selector import DigitSelector
from hw.pe.opt3 import Opt3
from hw.pe.opt4c import Opt4c
from hw.pe.opt4e import Opt4e
from verif.support.cases import case_name
from verif.support.formal import holds

SMALL: dict[str, Any] = {"a_width": 4, "b_width": 2, "accumulator_width": 9}
CASES: list[tuple[type[Opt3Spec], dict[str, Any]]] = [
    (Opt4cSpec, {}),
    (Opt4cSpec, {"k": 2}),
    (Opt4cSpec, {"a_signed": False}),
    (Opt4cSpec, {"b_signed": False}),
    (Opt4cSpec, {"a_width": 2}),
    (Opt4cSpec, {"accumulator_width": 4}),
    (Opt4cSpec, {"accumulator_width": 7}),
    (Opt4eSpec, {"k": 2}),
    (Opt4eSpec, {"k": 2, "b_signed": False, "accumulator_width": 8}),
    (Opt4eSpec, {"k": 2, "a_width": 2, "accumulator_width": 12}),
    (Opt4eSpec, {"k": 3, "accumulator_width": 4}),
]
NAMES = [f"{kind.__name__}-{case_name(case)}" for kind, case in CASES]


def terms(m: Module, spec: Opt3Spec, lines: Any, b: Value) -> Value:
    """Say by definition what the selected digits add."""
    total: Value = C(0, 1)
    for lane in range(spec.lanes):
        line = lines[str(lane)]
        for number, code in enumerate(range(lane, spec.k, spec.lanes)):
            operand = b.word_select(code, spec.b_width)
            value = operand.as_signed() if spec.b_signed else operand
            digit = Mux(line.one, value, 0) + Mux(line.two, 2 * value, 0)
            signed = Mux(line.negative, -digit, digit)
            chosen = Mux(line.code[number], signed, 0)
            for place in range(spec.digits):
                total = total + Mux(line.place[place], chosen << 2 * place, 0)
    return total


def sums_hold(spec: Opt3Spec, *, count: int = 2, slip: int = 0) -> bool:
    """Prove that `count` sets of any digits add up, from any state; `slip` falsifies it.

    From a start: cycles without digits that clear, as after reset; the digits; the
    drain. Digits are what the selector shows of any codes.
    """
    drain, flush = spec.drain, spec.REGISTERS + len(spec.groups)

    def claim(m: Module, start: Signal, a: Signal, b: Signal, load: Signal) -> Value:
        m.submodules.selector = selector = DigitSelector(spec)
        m.submodules.elements = elements = DigitElements(spec, 1)
        age = Signal(range(flush + count + drain + 2))
        m.d.sync += age.eq(Mux(start, 0, Mux(age > flush + count + drain, age, age + 1)))
        issued = (age >= flush) & (age < flush + count)
        m.d.comb += [
            selector.i_a.eq(a),
            selector.i_load.eq(load),
            selector.i_go.eq(issued),
            selector.i_step.eq(issued),
            elements.en.eq(1),
            elements.i_lines.eq(selector.o),
            elements.i_first.eq(age <= flush),
            elements.i_b.eq(b),
        ]
        # Lines of a cycle meet the b of the next.
        held = Signal.like(selector.o.as_value())
        m.d.sync += held.eq(selector.o)
        lines = type(selector.o)(selector.o.shape(), held)
        width = spec.accumulator_width
        expected = Signal(width)
        added = Signal(width)
        m.d.comb += added.eq(terms(m, spec, lines, b))
        m.d.sync += expected.eq(Mux(age == flush, 0, expected + added))
        # The selector's state is that of some beat if one was loaded at the start.
        ready = Signal()
        m.d.sync += ready.eq(Mux(start, load, ready))
        done = (age == flush + count + drain) & ready
        return ~done | (elements.o == expected + slip)

    widths = 1, spec.k * spec.a_width, spec.k * spec.b_width, 1
    return holds(claim, *widths, cycles=flush + count + drain + 2)


def settles(spec: Opt3Spec, cycles: int) -> bool:
    """Prove that no sum changes after so many cycles without digits, from any state."""

    def claim(m: Module, lines: Signal, first: Signal, b: Signal) -> Value:
        m.submodules.elements = elements = DigitElements(spec, 1)
        m.d.comb += [
            elements.en.eq(1),
            elements.i_lines.eq(lines),
            elements.i_first.eq(first),
            elements.i_b.eq(b),
        ]
        before = Signal(spec.accumulator_width)
        m.d.sync += before.eq(elements.o)
        quiet = Signal(cycles + 1)
        m.d.sync += quiet.eq(Cat((lines == 0) & ~first, quiet))
        return ~quiet.all() | (elements.o == before)

    lines = len(DigitSelector(spec).o.as_value())
    return holds(claim, lines, 1, spec.k * spec.b_width, cycles=cycles + 2)


@pytest.mark.sample(1)
@pytest.mark.parametrize(("kind", "case"), CASES, ids=NAMES)
def test_digit_elements_add_up(kind: type[Opt3Spec], case: dict[str, Any]) -> None:
    assert sums_hold(kind(**SMALL | case))


@pytest.mark.parametrize(("kind", "k"), [(Opt4cSpec, 1), (Opt4eSpec, 2)])
def test_digit_elements_proof_can_fail(kind: type[Opt3Spec], k: int) -> None:
    assert not sums_hold(kind(**SMALL, k=k), slip=1)


@pytest.mark.sample(4)
@pytest.mark.parametrize(("kind", "case"), CASES, ids=NAMES)
def test_digit_elements_settle(kind: type[Opt3Spec], case: dict[str, Any]) -> None:
    spec = kind(**SMALL | case)
    assert settles(spec, spec.drain)


@pytest.mark.parametrize(("kind", "k"), [(Opt4cSpec, 1), (Opt4eSpec, 2)])
def test_digit_elements_settle_no_sooner(kind: type[Opt3Spec], k: int) -> None:
    spec = kind(**SMALL, k=k)
    assert not settles(spec, spec.drain - 1)


@pytest.mark.parametrize("component", [Opt3, Opt4c, Opt4e])
def test_digit_element_rejects_wrong_kind(component: type[Opt3]) -> None:
    with pytest.raises(TypeError, match=f"spec must be an {component.__name__}Spec, not 8"):
        component(8)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "value", "error", "text"),
    [
        ("k", 33, ValueError, r"k must be 1\.\.32 pairs, not 33"),
        ("k", True, TypeError, r"k must be 1\.\.32 pairs, not True"),
        ("encoding", "csd", ValueError, "encoding must be one of naf, booth, ent, ent_direct, not"),
        ("constant_time", 1, TypeError, "constant_time must be true or false, not 1"),
    ],
)
def test_digit_element_rejects_out_of_range(
    name: str, value: Any, error: type[Exception], text: str
) -> None:
    for spec in (Opt3Spec, Opt4cSpec, Opt4eSpec):
        with pytest.raises(error, match=text):
            spec(**{name: value})
