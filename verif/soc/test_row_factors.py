"""Factors of the rows that a product continues: golden's, the multiplier's, drivers', refusals."""

from fractions import Fraction
from functools import partial
from math import floor
from typing import Any

import numpy as np
import pytest
from amaranth import Module, Signal, Value
from amaranth.sim import Simulator

from golden.formats.integer import IntFormat
from golden.soc.coprocessor import coprocessor
from golden.soc.job import Error, Job
from golden.soc.row_factors import scaled
from hw.arith.product import ENCODINGS, encode
from hw.catalog import Design
from hw.soc.path.requantiser_build import RequantiserBuild
from hw.soc.path.row_factors import FactoredNumber, RowFactors
from hw.soc.stores.operand_store import Bank
from verif.soc.driver.driver_rig import RNG, SPECS, Rig
from verif.support.cases import long
from verif.support.formal import holds

FACTOR = IntFormat(width=16, signed=False)
ONE = 1 << 15
SMALL: dict[str, Any] = {"a_bytes": 512, "b_bytes": 512}
BUILD = {
    "requantiser_encoding": "booth", "requantiser_adder": "sklansky", "requantisers": 0,
    "sum_copies": 1, "lean": False,
}  # fmt: skip


def test_golden_rounds_halves_up() -> None:
    """Against fractions, at corners of sums and factors, and at random."""
    rng = RNG(1)
    numbers = [0, 1, -1, 3, -3, (1 << 47) - 1, -(1 << 47), *rng.integers(-(1 << 40), 1 << 40, 40)]
    factors = [0, 1, ONE // 2, ONE - 1, ONE, ONE + 1, (1 << 16) - 1, *rng.integers(0, 1 << 16, 30)]
    sums = np.tile(np.array(numbers, np.int64), (len(factors), 1))
    expected = [
        [floor(Fraction(int(number)) * int(factor) / ONE + Fraction(1, 2)) for number in numbers]
        for factor in factors
    ]
    assert scaled(sums, np.array(factors)).tolist() == expected


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("signed", [False, True])
def test_multiplier_is_exact(encoding: str, signed: bool) -> None:
    """For all sums of 4 bits and all factors, two cycles later."""
    assert _exact(encoding, signed=signed)


@pytest.mark.parametrize("slip", [1, -1])
def test_proof_of_multiplier_can_fail(slip: int) -> None:
    assert not _exact("operator", signed=True, slip=slip)


def _exact(encoding: str, *, signed: bool, slip: int = 0) -> bool:
    number = IntFormat(width=4, signed=signed)

    def claim(m: Module, x: Signal, factor: Signal) -> Value:
        m.submodules.unit = unit = FactoredNumber(number, encoding=encoding, adder="ripple")
        m.d.comb += [
            unit.en.eq(1),
            unit.i.eq(x),
            unit.i_factor.eq(encode(m, factor, FACTOR, encoding)),
        ]
        late: Value = x.as_signed() if signed else x
        exact = Signal(4)
        m.d.comb += exact.eq((late * factor + (ONE // 2 + slip)) >> 15)
        for _ in range(2):
            later = Signal(4)
            m.d.sync += later.eq(exact)
            exact = later
        return unit.o == exact

    return holds(claim, 4, 16, cycles=2)


Word = tuple[int, bool, bool]
"""A word of rows of sums, whether it ends its row, and the row its block."""


def packed(numbers: Any, bits: int) -> int:
    """Put numbers side by side, the first one lowest."""
    return sum((int(one) & (1 << bits) - 1) << bits * at for at, one in enumerate(numbers))


def words_of(sums: np.ndarray, bits: int) -> list[Word]:
    """Write a block, rows x words x numbers."""
    rows, words, _ = sums.shape
    return [
        (packed(word, bits), number == words - 1, row == rows - 1)
        for row, line in enumerate(sums)
        for number, word in enumerate(line)
    ]


def multiplied(
    unit: RowFactors, blocks: list[tuple[np.ndarray, np.ndarray]], rng: np.random.Generator
) -> list[Word]:
    """Send blocks and their factors, without a cycle between both; return what comes."""
    taken: list[Word] = []
    width, bits = len(unit.i_factors.payload.data), 8 * unit.spec.sum_bytes

    async def send(context: Any) -> None:
        context.set(unit.i_factored, 1)
        for sums, factors in blocks:
            for at in range(0, len(factors), width // 16):
                context.set(unit.i_factors.valid, 1)
                context.set(unit.i_factors.payload.data, packed(factors[at : at + width // 16], 16))
                context.set(unit.i_factors.payload.last, at + width // 16 >= len(factors))
                await context.tick()
            context.set(unit.i_factors.valid, 0)
            for value, last, end in words_of(sums, bits):
                context.set(unit.i.payload.data, value)
                context.set(unit.i.payload.last, last)
                context.set(unit.i_end, end)
                context.set(unit.i.valid, 1)
                await context.tick().until(unit.i.ready)
                context.set(unit.i.valid, 0)
                if rng.integers(4) == 0:
                    await context.tick().repeat(int(rng.integers(1, 6)))
        await context.tick().repeat(40)

    async def take(context: Any) -> None:
        while True:
            context.set(unit.o.ready, int(rng.integers(3) > 0))
            await context.delay(1e-8)
            if context.get(unit.o.valid) and context.get(unit.o.ready):
                payload = unit.o.payload
                value, *ends = map(context.get, (payload.data, payload.last, unit.o_end))
                taken.append((value, bool(ends[0]), bool(ends[1])))
            await context.tick()

    simulator = Simulator(unit)
    simulator.add_clock(1e-6)
    simulator.add_testbench(send)
    simulator.add_testbench(take, background=True)
    simulator.run()
    return taken


@pytest.mark.parametrize("seed", [1, *long([2, 3])])
@pytest.mark.parametrize(
    ("engine", "width"),
    [("systolic_os(m=2,n=4)", 64), ("systolic_os(m=2,n=2)", 128), ("cube(m=1,n=3,k=2)", 32)],
)
def test_rows_have_their_own_factors(
    engine: str, width: int, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Words are parts of a row of a tile, a row, and several rows."""
    values = {"engine": engine, "data_width": width, "sums": 64, "row_factors": True}
    spec = Design("coprocessor", SMALL | values).spec
    unit, rng = RowFactors(spec, RequantiserBuild.of_tile(spec, BUILD)), RNG(seed)
    number, bank = unit.number, unit.store.bank
    made = partial(FactoredNumber, number.number, encoding="booth", adder="sklansky")
    # What is placed by name is put in here, as there is no Verilog.
    monkeypatch.setattr(number, "place", made)
    monkeypatch.setattr(bank, "place", partial(Bank, "bank", bank.width, bank.depth))
    blocks = [
        (
            rng.integers(-(1 << 31), 1 << 31, (rows, words, unit.numbers)),
            rng.integers(0, 1 << 16, rows),
        )
        for rows, words in rng.integers(1, 5, (6, 2))
    ]
    expected = [
        word
        for sums, factors in blocks
        for word in words_of(
            scaled(sums.reshape(len(sums), -1), factors).reshape(sums.shape), 8 * spec.sum_bytes
        )
    ]
    assert multiplied(unit, blocks, rng) == expected


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"accumulate": False}, "row_factors must be false .* without accumulate"),
        ({"engine": "npe(m=2,n=2,accumulator_width=49)"}, "integers of 48 bits or fewer"),
        (
            {
                "engine": "npe(m=2,n=2,formats=int8,scale=e8m0,result=fp32)",
                "bias": False,
                "requantise": False,
            },
            "row_factors must be false",
        ),
        ({"engine": "npe(formats=int4,zeros=true,block=32,accumulator_width=32)"}, "points of B"),
    ],
)
def test_builds_without_such_sums_are_refused(values: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        Design("coprocessor", {"row_factors": True} | values)


def test_streams_have_no_factors() -> None:
    with pytest.raises(ValueError, match="row_factors must be false between streams"):
        Design("coprocessor_stream", {"row_factors": True})


def test_a_build_without_factors_is_as_it_was() -> None:
    """Of the default build, not even the digest tells of them."""
    assert "row_factors" not in Design("coprocessor").key


def test_golden_refuses_factors_of_nothing() -> None:
    """Without accumulation, with a bias beside them, beyond memory, and where none are built."""
    spec, memory = SPECS["uint2 x int4"], np.zeros(4096, np.uint8)
    good: dict[str, Any] = {
        "a": 0, "b": 64, "c": 128, "m": 2, "n": 3, "k": 4, "lda": 8, "ldb": 8, "ldc": 16,
        "accumulate": True, "row_factors": 256,
    }  # fmt: skip
    assert coprocessor(spec, memory, Job(**good)) == Error.NONE
    for changes, error in (
        ({"accumulate": False}, Error.MODE),
        ({"bias": 512}, Error.MODE),
        ({"row_factors": (1 << spec.address_width) - 3}, Error.WRAPS),
    ):
        assert coprocessor(spec, memory, Job(**good | changes)) == error, changes
    assert coprocessor(SPECS["int8"], memory, Job(**good)) == Error.MODE


@pytest.mark.parametrize("shift", [0, 1, 4, 15])
def test_two_formats_along_k_are_one_product(shift: int) -> None:
    """A part of K in one unit and the rest in another: A B = A1 B1 / 2^e + A2 B2."""
    device, rng = Rig("python", None, SPECS["uint2 x int4"]).open(), RNG(shift)
    a, b = rng.integers(0, 4, (2, 5, 16)), rng.integers(-8, 8, (2, 16, 7))
    sums = device.matmul(a[0], b[0])
    device.matmul(a[1], b[1], out=sums, accumulate=True, row_factors=np.full(5, ONE >> shift))
    half = (1 << shift) >> 1
    assert np.array_equal(sums, ((a[0] @ b[0] + half) >> shift) + a[1] @ b[1])


def test_driver_refuses_factors_that_fit_nothing() -> None:
    device = Rig("python", None, SPECS["uint2 x int4"]).open()
    a, b, out = np.ones((3, 4), int), np.ones((4, 2), int), np.zeros((3, 2), np.int64)
    with pytest.raises(ValueError, match="row_factors must be None without accumulate"):
        device.matmul(a, b, row_factors=np.ones(3, int))
    with pytest.raises(ValueError, match=r"row_factors must be of shape \(1, 3\), not \(1, 4\)"):
        device.matmul(a, b, out=out, accumulate=True, row_factors=np.ones(4, int))
    with pytest.raises(ValueError, match=r"row_factors must be 0\.\.65535, not 65536"):
        device.matmul(a, b, out=out, accumulate=True, row_factors=np.full(3, 1 << 16))
    other = Rig("python", None, SPECS["int8"]).open()
    with pytest.raises(ValueError, match="row_factors"):
        other.matmul(a, b, out=out, accumulate=True, row_factors=np.ones(3, int))
