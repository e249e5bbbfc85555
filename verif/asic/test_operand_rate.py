"""Bytes of operands in a cycle: as many as a simulated design takes when nothing makes it wait."""

import random
from typing import Any

import pytest
from amaranth import Value
from amaranth.sim import Simulator

from carrysave.asic.operand_rate import operand_bytes
from hw.catalog import Design

CYCLES, SETTLED, BEATS = 400, 100, 40
"""Of a run; before those that are counted; of a sum."""
CASES: list[tuple[str, dict[str, Any], int]] = [
    # A design, and bits of A and B that enter together.
    ("mac", {"a_width": 3, "b_width": 5}, 8),
    ("opt2", {"k": 4, "a_width": 4}, 4 * (4 + 8)),
    ("systolic_os", {"m": 2, "n": 3}, 2 * 8 + 3 * 8),
    ("systolic_ws", {"m": 2, "n": 2, "k": 4}, 2 * 4 * 8 + 2 * 4 * 8),
    ("matrix_2d", {"m": 2, "n": 2, "a_width": 4}, 2 * 4 + 2 * 8),
    ("adder_tree", {"n": 2, "k": 4}, 4 * 8 + 2 * 4 * 8),
    ("lut_core", {"n": 2, "group": 2, "lookups": 2, "m": 1, "b_width": 4}, 4 * 8 + 2 * 4 * 4),
    (
        "lut_core",
        {"n": 2, "group": 2, "lookups": 2, "m": 1, "b_width": 2, "order": "outer"},
        4 * 8 + 2 * 4 * 1,
    ),
]


def counted(design: Design) -> float:
    """Simulate a design whose operands are there in each cycle; return the beats of a cycle."""
    component = design.component()
    names = [name for name in ("i", "i_a", "i_b") if hasattr(component, name)]
    (out,) = (getattr(component, name) for name in ("o", "o_c") if hasattr(component, name))
    rng = random.Random(1)
    beats = 0

    async def bench(ctx: Any) -> None:
        nonlocal beats
        ctx.set(out.ready, 1)
        sent = dict.fromkeys(names, 0)
        for cycle in range(CYCLES):
            for name in names:
                stream = getattr(component, name)
                ctx.set(stream.valid, 1)
                if hasattr(stream.payload, "last"):
                    ctx.set(stream.payload.last, sent[name] % BEATS == BEATS - 1)
            taken = [name for name in names if ctx.get(getattr(component, name).ready)]
            beats += cycle >= SETTLED and names[0] in taken
            await ctx.tick()
            for name in taken:
                sent[name] += 1
                codes = getattr(component, name).payload
                for field in ("a", "b", "data"):
                    if hasattr(codes, field):
                        bits = Value.cast(getattr(codes, field))
                        ctx.set(bits, rng.getrandbits(len(bits)))

    sim = Simulator(component)
    sim.add_clock(1e-6)
    sim.add_testbench(bench)
    sim.run()
    return beats / (CYCLES - SETTLED)


@pytest.mark.parametrize(("name", "parameters", "bits"), CASES)
def test_bytes_are_those_that_enter(name: str, parameters: dict[str, Any], bits: int) -> None:
    design = Design(name, parameters)
    found = operand_bytes(design)
    assert found is not None
    assert found == pytest.approx(counted(design) * bits / 8, rel=0.03)


def test_digits_take_their_mean() -> None:
    """A digit-serial element takes a pair as often as its operations say, a lane each cycle."""
    design = Design("opt3")
    operations = design.component().operations_per_cycle
    assert operand_bytes(design) == pytest.approx(operations / 2 * 2)
    assert operand_bytes(Design("sl8")) == 2.0


@pytest.mark.parametrize("name", ["encoder", "requantiser", "float_lut", "lut_unit", "coprocessor"])
def test_designs_without_operands_have_none(name: str) -> None:
    assert operand_bytes(Design(name)) is None
