"""Parts of the integer activations against arithmetic: exponential, and both kinds of division."""

from collections.abc import Sequence

import numpy as np
import pytest
from amaranth import Module, Signal, Value
from amaranth.sim import Simulator

from golden.npe.activation import ActivationSpec, exp_shift
from golden.npe.shift_gelu import ShiftGeluSpec
from golden.npe.shiftmax import ShiftmaxSpec
from hw.arith.constant_division import divide_by_constant, reciprocal
from hw.npe.activations import row_exponential
from hw.npe.activations.divide import Divide
from verif.support.formal import holds

DIVIDEND = ActivationSpec.DIVIDEND


@pytest.mark.sample(5)
@pytest.mark.parametrize(
    ("width", "divisor", "most"),
    [
        *((9, divisor, 368) for divisor in (1, 2, 3, 10, 16, 100, 369, 4096)),
        (4, 3, 8),  # the largest dividend is what needs the last bit
        (8, 11, 200),
        (12, 10, 4095),
        (13, 1000, 5888),
    ],
)
def test_division_by_a_constant_is_exact(width: int, divisor: int, most: int) -> None:
    def claim(m: Module, x: Signal) -> Value:
        quotient, rest = divide_by_constant(m, x, divisor, most, "sklansky")
        assert len(quotient) == max((most // divisor).bit_length(), 1)
        return (x > most) | ((quotient == x // divisor) & (rest == x % divisor))

    assert holds(claim, width)


@pytest.mark.parametrize("divisor", range(1, 41))
def test_reciprocal_is_the_least_that_is_exact(divisor: int) -> None:
    for most in range(300):
        factor, shift = reciprocal(divisor, most)
        # Errors are largest where the remainder is, and grow with the dividend.
        for x in (most, most - (most + 1) % divisor):
            assert x < 0 or x * factor >> shift == x // divisor
        excess = factor * divisor - (1 << shift)
        assert 0 <= excess * most < 1 << shift
        assert factor == -(-(1 << shift) // divisor)
        for less in range(shift):
            assert (-(1 << less) % divisor) * most >= 1 << less


def test_division_by_a_constant_proof_can_fail() -> None:
    """Beyond the dividends that it is made for, it need not be exact."""

    def claim(m: Module, x: Signal) -> Value:
        quotient, _ = divide_by_constant(m, x, 7, 30, "sklansky")
        return quotient == x // 7

    assert not holds(claim, 8)


@pytest.mark.sample(10)
@pytest.mark.parametrize("inverse_scale", [1, 2, 10, 16, 100, 333, 4096])
@pytest.mark.parametrize("spec_type", [ShiftmaxSpec, ShiftGeluSpec])
@pytest.mark.parametrize("width", [2, 5, 8, 10])
def test_exponential_matches_golden(
    spec_type: type[ActivationSpec], inverse_scale: int, width: int
) -> None:
    octaves = min(spec_type().octaves, (DIVIDEND // inverse_scale).bit_length() - 1)
    spec = spec_type(inverse_scale=inverse_scale, width=width, octaves=octaves)
    m = Module()
    below = Signal(width)
    made = row_exponential.exp_shift(m, spec, below, "operator")
    found: list[int] = []

    async def bench(ctx):
        for value in range(1 << width):
            ctx.set(below, value)
            found.append(ctx.get(made))

    simulator = Simulator(m)
    simulator.add_testbench(bench)
    simulator.run()
    assert found == exp_shift(spec, -np.arange(1 << width)).tolist()


def quotients(divide: Divide, divisors: Sequence[int]) -> list[int]:
    """Divide by each, and check that it takes the stated cycles."""
    found: list[int] = []

    async def bench(ctx):
        for divisor in divisors:
            ctx.set(divide.divisor, divisor)
            ctx.set(divide.start, 1)
            await ctx.tick()
            ctx.set(divide.start, 0)
            quotient = 0
            for cycle in range(divide.cycles):
                assert ctx.get(divide.busy)
                assert ctx.get(divide.last) == (cycle == divide.cycles - 1)
                quotient = quotient << len(divide.digits) | ctx.get(divide.digits)
                await ctx.tick()
            assert not ctx.get(divide.busy)
            found.append(quotient)

    simulator = Simulator(divide)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    return found


@pytest.mark.sample(3)
@pytest.mark.parametrize("bits", [1, 2, 3, 8])
@pytest.mark.parametrize("least", [1, 5, 64, 127])
def test_division_is_exact(bits: int, least: int) -> None:
    divisors = range(least, 128)
    divide = Divide(127, 7, least, bits, "ripple")
    assert quotients(divide, divisors) == [127 // divisor for divisor in divisors]


@pytest.mark.parametrize("bits", [1, 4])
def test_wide_division_is_exact(bits: int) -> None:
    rng = np.random.default_rng(5)
    powers = [1 << power for power in range(31)]
    divisors = [1, 2, 3, *powers, *(power + 1 for power in powers), DIVIDEND, DIVIDEND - 1]
    divisors += (rng.integers(1, DIVIDEND, 30) >> rng.integers(0, 28, 30)).tolist()
    divisors = [max(divisor, 1) for divisor in divisors if divisor <= DIVIDEND]
    divide = Divide(DIVIDEND, 31, 1, bits, "operator")
    assert divide.cycles == -(-31 // bits)
    assert quotients(divide, divisors) == [DIVIDEND // divisor for divisor in divisors]


def test_division_rejects_out_of_range() -> None:
    with pytest.raises(ValueError, match="dividend must be 2\\^w - 1, not 6"):
        Divide(6, 3, 1, 1, "ripple")
    with pytest.raises(ValueError, match=r"least must be 1\.\.7, not 0"):
        Divide(7, 3, 0, 1, "ripple")
