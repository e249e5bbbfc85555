"""Numbers of B out of the codes of a table: proven, taken with their tile, refused, fewer beats."""

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from amaranth import Array, C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.sim import Simulator

from golden.lut.expander import (
    CODEBOOKS,
    MASKS,
    NF4,
    PLAIN,
    TRITS_OF_BYTES,
    ExpanderSpec,
    codes_of,
    expand,
    pack_codes,
    table_of,
    unpack_codes,
)
from golden.lut.trits import TRITS
from golden.lut.trits import unpack_trits as weights_of
from golden.soc.blocking import Stores, order, plan
from golden.soc.expander import BOOKS
from golden.soc.spec import CoprocessorSpec
from golden.tpe.cube import CubeSpec
from golden.tpe.systolic_os import SystolicOsSpec
from hw.catalog import Design
from hw.soc.path import expander
from hw.soc.path.operand_feed import OperandFeed
from hw.soc.path.operand_words import operand_words
from hw.soc.registers.rdl import codes_of as numbers_of
from hw.soc.schedule.geometry import Geometry
from hw.soc.schedule.sides import sides
from verif.soc.test_slices import place
from verif.support.formal import holds

SMALL: dict[str, Any] = {"data_width": 64, "sums": 64, "a_bytes": 256, "b_bytes": 256}
KINDS = {"trits": TRITS_OF_BYTES, **CODEBOOKS}
WIDTHS = {"trits": 2, "sign": 2, "job4": 5}


def entries_of(spec: ExpanderSpec, width: int, table: Value) -> list[Value]:
    """List the numbers of codes, by golden, or of the table of a job."""
    if spec.mirrored:
        low = [table[(width - 1) * code : (width - 1) * (code + 1)] for code in range(8)]
        return [Cat(one, C(0, 1)) for one in low] + [~Cat(one, C(0, 1)) for one in low]
    if spec.table is None:
        return [table[width * code : width * (code + 1)] for code in range(spec.entries)]
    numbers = expand(np.arange(spec.entries), np.array(spec.table)).tolist()
    return [C(number & (1 << width) - 1, width) for number in numbers]


def right(spec: ExpanderSpec, width: int, word: Value, table: Value) -> Value:
    """Return a word's numbers by the codes that golden takes out of words of one bit each."""
    if spec == TRITS_OF_BYTES:
        rows = weights_of(np.arange(256)[None]).reshape(TRITS, 256).T & 3
        words = [sum(int(code) << 2 * at for at, code in enumerate(row)) for row in rows]
        return Array(C(one, 2 * TRITS) for one in words)[word]
    bits = np.array([[1 << bit for bit in range(63)]])
    places = unpack_codes(bits, spec)
    numbers = []
    for row in places:
        code = Cat(word[int(np.flatnonzero(row == 1 << bit)[0])] for bit in range(spec.width))
        chosen: Value = C(0, width)
        for number, entry in enumerate(entries_of(spec, width, table)):
            chosen = chosen | Mux(code == number, entry, 0)
        numbers.append(chosen[:width])
    return Cat(numbers)


def at_random(claim: Callable[..., Value], *widths: int) -> bool:
    """Return whether a claim is true of inputs at random."""
    m, draw, wrong = Module(), random.Random(1), list[int]()
    inputs, ok = [Signal(width, name=f"x{width}") for width in widths], Signal()
    m.d.comb += ok.eq(claim(m, *inputs))

    async def bench(ctx: Any) -> None:
        for number in range(100):
            for signal in inputs:
                ctx.set(signal, draw.getrandbits(len(signal)))
            if not ctx.get(ok):
                wrong.append(number)

    simulator = Simulator(m)
    simulator.add_testbench(bench)
    simulator.run()
    return not wrong


@pytest.mark.parametrize("name", KINDS)
def test_expander_is_proven(name: str) -> None:
    """Of any word and any table; of a long word's codes the first, one between, and the last."""
    spec, width = KINDS[name], WIDTHS.get(name, 8)
    steps = (0, 10, 20) if name == "job8" else range(spec.deep)

    def claim(m: Module, word: Signal, table: Signal) -> Value:
        found = expander.expand(m, word, spec, width, table, "weights")
        expected = right(spec, width, word, table)
        return Cat(
            found.word_select(step, width) == expected.word_select(step, width) for step in steps
        ).all()

    assert holds(claim, spec.bits, max(spec.table_bytes * (width - spec.mirrored), 1))


@pytest.mark.parametrize("name", CODEBOOKS)
def test_words_of_a_beat_are_masked_behind_the_table(name: str) -> None:
    """What is beyond K, or beyond the columns of C, is 0, whatever the table has for code 0.

    Proven; of 21 codes in a word for words and masks at random.
    """
    width = WIDTHS.get(name, 8)
    deep = CODEBOOKS[name].deep
    engine = CubeSpec(m=1, n=2, k=deep * (1 if deep > 1 else 2), b_width=width)
    more = SMALL | {"b_bytes": 1024, "a_bytes": 1024}
    spec = CoprocessorSpec(engine=engine, codebook=name, **more)
    side, rest = sides(spec)["b"], Geometry(spec)
    steps, bits = side.banks * side.steps, side.across * side.shapes[0][1]
    assert steps == engine.k
    layout = {"chosen": 1, "mask": steps, "inside": side.across, "last": 1, "tail": 1}

    def claim(m: Module, read: Signal, masks: Signal, table: Signal) -> Value:
        choice = data.View(data.StructLayout(layout), Cat(C(1, 1), masks, C(0, 2)))
        job = data.View(rest, Signal(rest.size))
        found = operand_words(m, job, side, read, choice, table)
        same = []
        for step in (0, 10, 20) if deep > 1 else range(steps):
            bank, at = divmod(step, side.deep)
            for column in range(side.across):
                word = read.word_select(bank, bits).word_select(column, side.shapes[0][1])
                number = right(side.expander, width, word, table).word_select(at, width)
                expected = Mux(masks[step] & masks[steps + column], number, 0)[:width]
                same.append(found.word_select(step * side.across + column, width) == expected)
        return Cat(same).all()

    book = side.expander
    entries = max(book.table_bytes * (width - book.mirrored), 1)
    widths = side.banks * bits, steps + side.across, entries
    assert at_random(claim, *widths) if deep > 1 else holds(claim, *widths)


@pytest.mark.parametrize("lean", [False, True])
def test_table_is_that_of_the_tiles_job(lean: bool) -> None:
    """Tiles of other jobs follow without a gap, and with stalls; each has its own table."""
    engine = SystolicOsSpec(m=2, n=2)
    spec = CoprocessorSpec(engine=engine, codebook="job4", **SMALL)
    dut, draw, m = OperandFeed(spec, sides(spec)["b"], lean=lean), random.Random(1), Module()
    place(m, dut, 0)
    tables = [draw.getrandbits(32) for _ in range(spec.PARTS)]
    m.d.comb += dut.i_table.eq(Array(C(table, 32) for table in tables)[dut.o_turn])
    due, seen = list[int](), list[int]()

    async def bench(ctx: Any) -> None:
        for port in (dut.store.i_stride, dut.i_stride, dut.store.i.payload.last):
            ctx.set(port, 1)
        # All codes are 2, all rows are there.
        ctx.set(dut.store.i.valid, 1)
        ctx.set(dut.store.i.payload.data, int("10" * 4 * dut.side.word_bytes, 2))
        turn, valid = 0, False
        for cycle in range(1200):
            ctx.set(dut.store.i_end, int(cycle % dut.side.words == 0))
            ctx.set(dut.o.ready, draw.random() < 0.7)
            if cycle > 300 and not valid:
                valid, turn = True, (turn + draw.getrandbits(1)) % spec.PARTS
                codes = draw.randint(1, 3)
                tile = {"part": 0, "codes": codes, "lines": 2, "turn": turn}
                for field, value in tile.items():
                    ctx.set(dut.i.payload[field], value)
            ctx.set(dut.i.valid, int(valid))
            if valid and ctx.get(dut.i.ready):
                due.extend([tables[turn] >> 16 & 255] * codes)
                valid = False
            if ctx.get(dut.o.valid) and ctx.get(dut.o.ready):
                seen.append(ctx.get(dut.o.payload.data))
            await ctx.tick()

    simulator = Simulator(m)
    simulator.add_clock(1e-8)
    simulator.add_testbench(bench)
    simulator.run()
    assert len(seen) > 200
    assert seen == [number * 257 for number in due[: len(seen)]]


def test_codes_are_those_of_the_table() -> None:
    """One golden function makes numbers of codes; what it refuses is no code of any word."""
    rng = np.random.default_rng(1)
    for spec in CODEBOOKS.values():
        low, most = (0, 128) if spec.mirrored else (-128, 256)
        held = rng.choice(most, spec.table_bytes, replace=False) + low
        table = spec.table or spec.numbers(held.tolist(), 127)
        codes = rng.integers(0, spec.entries, (50, 7))
        numbers = expand(codes, np.array(table))
        assert np.array_equal(numbers, np.array(table)[codes])
        assert np.array_equal(codes_of(numbers, tuple(table)), codes)
        words = pack_codes(codes, spec)
        assert len(words) == -(-50 // spec.deep)
        assert words.max() < 1 << min(spec.bits, 63)
        assert np.array_equal(unpack_codes(words, spec)[:50], codes)
    with pytest.raises(ValueError, match=r"codes must be 0\.\.15, not 16"):
        expand(np.array([3, 16]), np.array(NF4))
    with pytest.raises(ValueError, match=r"numbers must be of -127, .*, 127, not 5"):
        codes_of(np.array([0, 5]), NF4)
    assert table_of(np.array([5, -3, 5]), CODEBOOKS["job4"]) == (-3, 5, 0, 0)
    with pytest.raises(ValueError, match="numbers must be of 4 or fewer, not of 5"):
        table_of(np.arange(5), CODEBOOKS["job4"])
    mirrored = CODEBOOKS["mirror16"]
    assert table_of(np.array([-6, 5, 0, -128, 7]), mirrored) == (0, 5, 7, 127, 0, 0, 0, 0)
    assert mirrored.numbers([0, 5, -1], 127) == (0, 5, 127, -1, -6, -128)
    says = "numbers must be of 8 or fewer and their complements, not of 9"
    with pytest.raises(ValueError, match=says):
        table_of(np.arange(9), mirrored)
    assert TRITS_OF_BYTES.deep == TRITS


def test_coprocessor_without_codebook_is_as_it_was() -> None:
    """Of the default build, not even the digest tells of it; kinds have the numbers of FEATURES."""
    assert "codebook" not in Design("coprocessor").key
    whole = [name for name in BOOKS if name not in CODEBOOKS or not CODEBOOKS[name].mirrored]
    assert list(numbers_of("features_codebook")) == [*whole, *MASKS]
    assert CoprocessorSpec().inside.expander == PLAIN


def test_codes_are_fewer_bytes_to_read() -> None:
    """4 and 64 / 21 bits in place of 8, block by block: what is read of B is within 5 % of that."""
    some: dict[str, int] = {
        "tile_m": 4,
        "tile_n": 8,
        "tile_k": 42,
        "a_bits": 8,
        "data_width": 64,
        "outstanding": 64,
        "sums": 4096,
        "a_bytes": 4096,
        "b_bytes": 16384,
    }
    m, n, k = 1, 2560, 2520
    for name, weight in (("nf4", 4), ("job8", 64 / 21), ("job4", 2), ("sign", 1)):
        spec = CODEBOOKS[name]
        stores = Stores(**some, b_bits=spec.bits, b_deep=spec.deep)
        bits = {"a": 8, "b": stores.b_bits, "c": 32}
        parts = order(stores, plan(stores, m, n, k, 32), bits, m, n, k)
        found = sum(part.bytes for part in parts if part.name == "b")
        assert n * k * weight / 8 <= found <= 1.05 * n * k * weight / 8
