"""Our models of devices' blocks, against those of Yosys, or what their makers say of them."""

from itertools import product
from pathlib import Path

import pytest
from amaranth import Cat, Module, Mux, Signal, Value

from hw.device import NAMES, family, models_of
from hw.emit import yosys
from verif.support.cases import long
from verif.support.formal import holds


@pytest.mark.parametrize(
    ("block", "parameters"),
    [
        *(
            ("CCU2C", {"INIT0": table, "INIT1": table, "INJECT1_0": '"NO"', "INJECT1_1": '"NO"'})
            for table in (0x663C, 0x000A, 0x96AA)
        ),
        *(("LUT4", {"INIT": table}) for table in (0, 0xCA53)),
    ],
)
def test_tables_of_ecp5_are_those_of_yosys(
    block: str, parameters: dict[str, int | str], tmp_path: Path
) -> None:
    (model,) = models_of(f"  {block} u ()\n")
    given = " ".join(f"-set {name} {value}" for name, value in parameters.items())
    log = yosys.run(
        f"read_verilog {model}\nrename {block} ours\n"
        f"read_verilog -D NO_INCLUDES +/ecp5/cells_sim.v\nrename {block} theirs\n"
        f"chparam {given} ours theirs\n"
        "proc ours theirs\nmiter -equiv -make_assert ours theirs miter\n"
        "hierarchy -top miter\nproc\nflatten\nopt\nsat -verify -prove-asserts miter",
        cwd=tmp_path,
    )
    assert "no model found: SUCCESS" in log


@pytest.mark.parametrize("is_signed", [True, False])
def test_ecp5_product_comes_three_cycles_later(is_signed: bool) -> None:
    """Lattice FPGA-TN-02205: registers of inputs, pipeline and output."""

    def claim(m: Module, x: Signal, y: Signal) -> Value:
        a = x.as_signed() if is_signed else x
        b = y.as_signed()
        found = family("ecp5").multiply(m, a, b)
        expected: Value = a * b
        for _ in range(3):
            late = Signal.like(expected)
            m.d.sync += late.eq(expected)
            expected = late
        return found == expected

    assert holds(claim, 5, 4, cycles=4)


@pytest.mark.parametrize("signs", [*product([True, False], repeat=2)])
def test_ice40_halves_multiply_one_operand_with_two(signs: tuple[bool, bool]) -> None:
    def claim(m: Module, x: Signal, y: Signal, z: Signal) -> Value:
        a, *b = (
            code.as_signed() if is_signed else code
            for code, is_signed in zip((x, y, z), (signs[0], signs[1], signs[1]), strict=True)
        )
        found = family("ice40").multiply_halves(m, a, b)
        whole = Signal(32)
        m.d.comb += [whole.word_select(half, 16).eq(a * code) for half, code in enumerate(b)]
        return found == late(m, whole, 3)[3]

    assert holds(claim, 4, 4, 4, cycles=4)


def test_ecp5_rows_return_two_enables_later() -> None:
    """Lattice FPGA-TN-02204: a latch behind the array, and the output register."""

    def claim(m: Module, write: Signal, place: Signal, word: Signal, read: Signal) -> Value:
        m.submodules.store = store = family("ecp5").row_store(4, 512)
        m.d.comb += [
            store.i_write.eq(write),
            store.i_address.eq(place),
            store.i.eq(word),
            store.i_read.eq(read),
            store.i_from.eq(3),
        ]
        hits = late(m, write & (place == 3), 3)
        words, reads, outs = late(m, word, 3), late(m, read, 3), late(m, store.o, 3)
        comes = hits[3] & reads[2][0] & reads[1][1]
        return (~comes | (store.o == words[3])) & (reads[1][1] | (store.o == outs[1]))

    assert holds(claim, 1, 2, 4, 2, cycles=4)


@pytest.mark.parametrize(
    ("name", "carries", "slip"),
    [("ecp5", 1, 0), ("ecp5", 1, 1), *long([*product(NAMES, [0, 1], [0, 1])])],
)
def test_sums_select_and_add(name: str, carries: int, slip: int) -> None:
    """For all that a sum may be added to, also where arrays always have zeros."""

    def claim(m: Module, keep: Signal, other: Signal, addend: Signal, more: Signal) -> Value:
        total = Signal(5)
        carry = more if carries else Cat()
        family(name).accumulate(m, total, keep, other, addend.as_signed(), carry)
        before = Mux(keep, total, other) + addend.as_signed() + carry + slip
        return total == late(m, before[:5], 1)[1]

    assert holds(claim, 1, 5, 3, 1, cycles=1) == (slip == 0)


def late(m: Module, value: Value, cycles: int) -> list[Signal]:
    """Return a value as it is, as it was a cycle ago, and so on."""
    values = [Signal(len(value))]
    m.d.comb += values[0].eq(value)
    for _ in range(cycles):
        values.append(Signal(len(value)))
        m.d.sync += values[-1].eq(values[-2])
    return values
