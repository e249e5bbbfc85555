"""The co-processor's registers, access by access, on Amaranth's simulator."""

import pytest
from amaranth.lib import data

from hw.soc.registers.coprocessor import JobLayout, Registers
from hw.soc.registers.rdl import fields_of, parameters_of, register_map
from verif.soc.registers.bench import (
    BUILD,
    CTRL,
    ERROR,
    IDLE,
    ISR,
    OKAY,
    RESET,
    SLVERR,
    START,
    WRITABLE,
    Host,
    simulate,
)

DISCOVERY = {
    0x100: 0x43535631, 0x104: 0x030E0F, 0x108: 1, 0x10C: 5, 0x110: 16, 0x114: 12, 0x118: 4,
    0x11C: 8, 0x120: 2, 0x124: 6, 0x128: 256, 0x12C: 40, 0x130: 0xFFFFFFFF, 0x134: 192,
    0x138: 4096, 0x13C: 2048, 0x140: 0x82D, 0x144: 0x89ABCDEF, 0x148: 0x01234567, 0x14C: 7,
    0x150: 0x872B850C, 0x154: 23, 0x158: 21, 0x15C: 0b110,
    0x160: 0x11530C0A, 0x164: 1234,
}  # fmt: skip
MAPPED = {*range(0, 0xE8, 4), *range(0x100, 0x168, 4)}


def test_registers_parameters_are_checked() -> None:
    for name in parameters_of():
        least = {key: value for key, value in BUILD.items() if key != name}
        with pytest.raises(TypeError, match="parameters must be version, engine"):
            Registers(least)
        with pytest.raises(TypeError, match=f"{name} must be 0..[0-9]+, not '8'"):
            Registers({**BUILD, name: "8"})  # type: ignore[dict-item]
        with pytest.raises(ValueError, match=f"{name} must be 0..[0-9]+, not -1"):
            Registers({**BUILD, name: -1})
    with pytest.raises(ValueError, match=r"tile_m must be 0..4294967295, not 4294967296"):
        Registers({**BUILD, "tile_m": 1 << 32})
    with pytest.raises(TypeError, match="parameters must be"):
        Registers({**BUILD, "colour": 1})
    with pytest.raises(ValueError, match="name must be an identifier, not 'a b'"):
        register_map(BUILD, name="a b")


def test_registers_fields_have_names_of_their_own() -> None:
    names = [field.name for field in fields_of(register_map(BUILD))]
    assert len(names) == len(set(names)) > 90


def test_registers_read_their_reset_values_and_slverr_elsewhere() -> None:
    async def bench(host: Host) -> None:
        for address in range(0, 0x200, 4):
            response, value = await host.access(address)
            assert response == (OKAY if address in MAPPED else SLVERR), hex(address)
            expected = {CTRL: IDLE, **DISCOVERY}.get(address, 0)
            assert value == expected, hex(address)

    simulate(bench)


def test_registers_of_vector_jobs_are_there_only_with_a_unit() -> None:
    def addresses(vector: int) -> dict[str, int]:
        top = register_map({**BUILD, "vector": vector})
        return {field.name: field.register.absolute_address for field in fields_of(top)}

    without, found = addresses(0), addresses(1)
    assert without.items() <= found.items()
    assert set(found) - set(without) == {
        "vector",
        "vector_length",
        "vector_format_width",
        "vector_format_out_width",
        "vector_format_scale_width",
        "vector_format_norm_fraction",
        "vector_format_signed_codes",
        "vector_format_lanes",
    }


def test_narrow_registers_tell_what_is_beyond() -> None:
    widths = {"job_m": 13, "job_a_hi": 1, "job_b_hi": 0}
    m, a_high, b_high = 0x48, 0x14, 0x1C

    async def bench(host: Host) -> None:
        for value, strobe, kept in (
            (0xABC, 15, 0xABC),
            (0x1123, 15, 0x1123),
            (1 << 31, 15, 0x1000),
            (0xFFF, 15, 0xFFF),
            (0x20000, 4, 0x1FFF),
            (0x55, 1, 0x1F55),
            (0x3333, 3, 0x1333),
            (0x234, 15, 0x234),
            (0xFFFFF000, 1, 0x200),
            (0x1F0000FF, 7, 0xFF),
        ):
            assert await host.write(m, value, strobe) == OKAY
            assert await host.read(m) == kept, hex(value)
        for value in (1 << 31, 0, 0x100, 0):
            for address in (a_high, b_high):
                assert await host.write(address, value) == OKAY
            assert await host.read(a_high) == (value != 0)
            assert await host.read(b_high) == 0
        assert await host.write(a_high - 4, 0xFFFFFFFF) == OKAY
        assert await host.read(a_high - 4) == 0xFFFFFFFF

    simulate(bench, widths)


def test_registers_keep_the_bits_that_are_there_and_make_the_job() -> None:
    async def bench(host: Host) -> None:
        written = {}
        for number, (address, mask) in enumerate(WRITABLE.items()):
            written[address] = 0x9E3779B9 * (number + 1) & 0xFFFFFFFF
            for value in (0xFFFFFFFF, written[address]):
                assert await host.write(address, value) == OKAY
                assert await host.read(address) == value & mask, hex(address)
        assert await host.write(0x8C, 0xFFFFFFFF) == OKAY
        for address, mask in WRITABLE.items():
            assert await host.read(address) == written[address] & mask, hex(address)
        assert await host.read(ERROR) == 0

        image = sum(
            (written[address] & mask) << 8 * (address - 0x10)
            for address, mask in WRITABLE.items()
            if address < 0x90
        )
        parts = 0
        for part in range(16):
            host.ctx.set(host.dut.i_part, part)
            parts |= host.ctx.get(host.dut.o_part) << 64 * part
        assert parts == image
        assert host.ctx.get(host.dut.o_ring) == written[0x94] << 32 | written[0x90]
        assert host.ctx.get(host.dut.o_count) == written[0x98]

    simulate(bench)


def test_registers_of_sizes_are_there_only_if_jobs_choose() -> None:
    def names(features: int) -> set[str]:
        return {field.name for field in fields_of(register_map({**BUILD, "features": features}))}

    assert names(1 << 12) - names(0) == {"job_mode_c_bytes"}


def test_registers_job_layout_is_the_descriptor() -> None:
    layout = JobLayout()
    assert layout.size == 1024
    fields = {
        "a": (0x10, 64), "b": (0x18, 64), "c": (0x20, 64), "bias": (0x28, 64),
        "requant": (0x30, 64), "a_scales": (0x38, 64), "b_scales": (0x40, 64), "m": (0x48, 32),
        "n": (0x4C, 32), "k": (0x50, 32), "lda": (0x54, 32), "ldb": (0x58, 32), "ldc": (0x5C, 32),
        "ldsa": (0x60, 32), "ldsb": (0x64, 32), "mode": (0x68, 32), "multiplier": (0x6C, 31),
        "shift": (0x70, 6), "zero_point": (0x74, 16), "low": (0x78, 16), "high": (0x7C, 16),
        "block_m": (0x80, 32), "block_n": (0x84, 32), "block_k": (0x88, 32),
        "alike": (0x8C, 32),
    }  # fmt: skip
    assert {name: (field.offset // 8 + 0x10, field.width) for name, field in layout} == fields
    mode = {
        "a_format": (0, 4),
        "b_format": (4, 4),
        "requantise": (8, 1),
        "bias": (9, 1),
        "per_column": (10, 1),
        "accumulate": (11, 1),
        "relu": (12, 1),
        "order": (13, 1),
        "window": (14, 1),
        "packed": (15, 1),
        "vector": (16, 4),
        "c_bytes": (20, 2),
        "table": (22, 1),
        "listed": (28, 1),
    }
    shape = layout["mode"].shape
    assert isinstance(shape, data.FlexibleLayout)
    assert {name: (field.offset, field.width) for name, field in shape} == mode


@pytest.mark.parametrize("address", [0x48, 0x6C])
def test_registers_write_the_bytes_that_strobes_name(address: int) -> None:
    async def bench(host: Host) -> None:
        mask = WRITABLE[address]
        for strobe in range(16):
            await host.write(address, 0x11223344)
            await host.write(address, 0xAABBCCDD, strobe)
            bits = sum(0xFF << 8 * byte for byte in range(4) if strobe >> byte & 1)
            assert await host.read(address) == (0x11223344 & ~bits | 0xAABBCCDD & bits) & mask
        await host.write(CTRL, START | RESET, 0b0110)
        await host.write(ISR, 3, 0b1110)
        assert await host.read(CTRL) == IDLE
        assert await host.read(ISR) == 0

    simulate(bench)


def test_registers_writes_elsewhere_are_slverr_without_effect() -> None:
    async def bench(host: Host) -> None:
        for address in WRITABLE:
            await host.write(address, address)
        before = [await host.read(address) for address in sorted(MAPPED)]
        for address in sorted({*range(0, 0x200, 4)} - MAPPED):
            assert await host.write(address, 0xFFFFFFFF) == SLVERR, hex(address)
        for address in (0x8C, 0x9C, 0xA4, 0xA8, 0xAC, *range(0xB0, 0xE8, 4), *DISCOVERY):
            assert await host.write(address, 0xFFFFFFFF) == OKAY, hex(address)
        assert [await host.read(address) for address in sorted(MAPPED)] == before

    simulate(bench)
