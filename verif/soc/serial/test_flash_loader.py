"""Memory that is filled from flash as the golden model does it, whatever flash has."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest
from amaranth.sim import Simulator

from golden.soc.serial.flash_image import FlashImageFormat, FlashStatus, flash_image, load_flash
from hw.soc.serial import flash_reader
from hw.soc.serial.flash_loader import FlashLoader
from hw.soc.stores.byte_access import UNSTARTED
from verif.soc.bus.partners import Part, Pin, run
from verif.soc.serial.flash_chip import FlashChip

DIGEST, SIZE, ADDRESS = 0x0123_4567_89AB_CDEF, 1 << 10, 0x12_3456
DATA = bytes(np.random.default_rng(1).integers(0, 256, 40, np.uint8))
F = FlashImageFormat


class Chip(Part):
    """A flash at the loader's pins."""

    def __init__(self, dut: FlashLoader, chip: FlashChip) -> None:
        self.dut, self.chip, self.miso = dut, chip, 1
        self.ports = [dut.flash_cs_n, dut.flash_clk, dut.flash_mosi]

    def drive(self, ctx: Any) -> None:
        ctx.set(self.dut.flash_miso, self.miso)

    def see(self, cycle: int, values: Sequence[int]) -> None:
        self.miso = self.chip.step(*values)


class Memory(Part):
    """Bytes that take some cycles each, and of which one may be refused."""

    def __init__(self, port: Any, octets: np.ndarray, bad: int | None, most: int) -> None:
        self.port, self.octets, self.bad = port, octets, bad
        self.ports = [port.request, port.write, port.address, port.data]
        self.rng, self.left, self.most = np.random.default_rng(2), 0, most
        self.answers = False
        self.writes: list[int] = []

    def drive(self, ctx: Any) -> None:
        ctx.set(self.port.done, self.answers)
        ctx.set(self.port.error, self.answers and self.writes[-1:] == [self.bad])

    def see(self, cycle: int, values: Sequence[int]) -> None:
        request, write, address, data = values
        if self.answers or not request:
            self.answers, self.left = False, int(self.rng.integers(0, self.most))
        elif self.left:
            self.left -= 1
        else:
            self.answers = True
            assert write
            self.writes.append(address)
            self.octets[address] = data


def flashed(image: bytes) -> bytes:
    return bytes(ADDRESS) + image


def fill(
    chip: FlashChip,
    monkeypatch: pytest.MonkeyPatch,
    bad: int | None = None,
    most: int = 4,
    cycles: list[int] | None = None,
) -> tuple[FlashStatus, int, np.ndarray, Memory]:
    """Have a loader fill memory; return its status, its CRC, and the memory; note the cycles."""
    monkeypatch.setattr(flash_reader, "_PAUSE", 128)
    dut = FlashLoader(ADDRESS, SIZE, DIGEST)
    memory = Memory(dut.memory, np.full(SIZE, 0xA5, np.uint8), bad, most)
    said: list[int] = [0, 0, 0]

    class Says(Part):
        ports = (dut.o_started, dut.o_status, dut.o_image)

        def see(self, cycle: int, values: Sequence[int]) -> None:
            said[:] = values
            assert bool(values[0]) == (values[1] != FlashStatus.LOADING)

    took = run(
        dut,
        [Chip(dut, chip), memory, Says(), Pin(dut.i_started, lambda: 1)],
        lambda: bool(said[0]),
        deadline=20_000,
    )
    if cycles is not None:
        cycles.append(took)
    return FlashStatus(said[1]), said[2], memory.octets, memory


def test_bytes_take_as_long_as_flash(monkeypatch: pytest.MonkeyPatch) -> None:
    """33 cycles each, of memory that is not slower."""
    taken: list[int] = []
    for size in (1, 21):
        image = flash_image(DIGEST, DATA[:size])
        fill(FlashChip(flashed(image)), monkeypatch, most=20, cycles=taken)
    assert 20 * 33 - 20 <= taken[1] - taken[0] <= 20 * 33 + 20


def flipped(at: int, bit: int = 0) -> bytes:
    image = bytearray(flash_image(DIGEST, DATA))
    image[at] ^= 1 << bit
    return bytes(image)


def headed(size: int = len(DATA), magic: bytes = F.MAGIC) -> bytes:
    """Return an image whose header says something else, with a right CRC."""
    header = bytearray(magic + flash_image(DIGEST, DATA)[F.DIGEST : F.CRC])
    header[F.BYTES : F.DATA_CRC] = size.to_bytes(4, "little")
    whole = flash_image(0, bytes(header))[F.DATA_CRC : F.CRC]
    return bytes(header) + whole + DATA


@pytest.mark.sample(8)
@pytest.mark.parametrize(
    ("image", "status"),
    [
        (flash_image(DIGEST, DATA), FlashStatus.LOADED),
        (flash_image(DIGEST, b"\x5a"), FlashStatus.LOADED),
        (flash_image(DIGEST ^ 1, DATA), FlashStatus.OTHER),
        (flash_image(DIGEST ^ 1 << 63, DATA), FlashStatus.OTHER),
        (bytes(100), FlashStatus.EMPTY),
        (b"", FlashStatus.EMPTY),
        *((headed(magic=magic), FlashStatus.EMPTY) for magic in (b"ESF1", b"CSF2")),
        (headed(), FlashStatus.LOADED),
        (headed(0), FlashStatus.EMPTY),
        (headed(SIZE + 1), FlashStatus.EMPTY),
        (headed(1 << 31), FlashStatus.EMPTY),
        (headed(39), FlashStatus.DAMAGED),
        (headed(41), FlashStatus.DAMAGED),
        *((flipped(at, at % 8), FlashStatus.EMPTY) for at in (0, 3, 4, 11, 12, 15, 16, 19, 20, 23)),
        *((flipped(at, at % 8), FlashStatus.DAMAGED) for at in (24, 31, 63)),
        (flash_image(DIGEST, DATA)[:-1], FlashStatus.DAMAGED),
    ],
)
def test_memory_is_what_golden_makes_of_flash(
    image: bytes, status: FlashStatus, monkeypatch: pytest.MonkeyPatch
) -> None:
    chip = FlashChip(flashed(image))
    found, crc, octets, _ = fill(chip, monkeypatch)
    expected = np.full(SIZE, 0xA5, np.uint8)
    padded = image + b"\xff" * 100
    assert (found, crc) == load_flash(padded, DIGEST, expected)
    assert found == status
    assert np.array_equal(octets, expected)
    assert chip.reads == [ADDRESS]


@pytest.mark.parametrize("level", [0, 1])
def test_flash_that_is_absent(level: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Zeros or ones are no header, and nothing is written."""
    found, crc, _, memory = fill(FlashChip(b"", absent=level), monkeypatch)
    assert (found, crc, memory.writes) == (FlashStatus.EMPTY, 0, [])


def test_flash_that_stays_asleep(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is selected before it can be: the chip says so."""
    with pytest.raises(AssertionError, match="while it wakes"):
        fill(FlashChip(flashed(flash_image(DIGEST, DATA)), wake=200), monkeypatch)


def test_memory_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """Copying ends at the byte that memory does not take."""
    chip = FlashChip(flashed(flash_image(DIGEST, DATA)))
    found, crc, _, memory = fill(chip, monkeypatch, bad=17)
    assert (found, crc, memory.writes) == (FlashStatus.FAILED, 0, list(range(18)))


@pytest.mark.parametrize("late", [1, 2])
def test_memory_that_is_slower_than_flash(late: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The flash's clock waits, and no byte is lost."""
    chip = FlashChip(flashed(flash_image(DIGEST, DATA)), late=late)
    found, _, octets, _ = fill(chip, monkeypatch, most=120)
    assert found == FlashStatus.LOADED
    assert octets[: len(DATA)].tobytes() == DATA


def test_reader_samples_before_the_flash_shows_the_next_bit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A bit that comes four cycles late is that before: there is no image."""
    chip = FlashChip(flashed(flash_image(DIGEST, DATA)), late=4)
    assert fill(chip, monkeypatch)[0] == FlashStatus.EMPTY


def test_host_waits_and_may_have_it_copied_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its bytes are refused meanwhile; what it has changed is as in flash afterwards."""
    monkeypatch.setattr(flash_reader, "_PAUSE", 128)
    dut = FlashLoader(ADDRESS, SIZE, DIGEST)
    chip, octets = FlashChip(flashed(flash_image(DIGEST, DATA))), np.zeros(SIZE, np.uint8)
    memory = Memory(dut.memory, octets, None, 200)
    parts = [Chip(dut, chip), memory]
    values: list[int] = []

    async def bench(ctx: Any) -> None:
        async def step(until: Callable[[], bool], most: int = 20_000) -> None:
            for _ in range(most):
                if until():
                    return
                for part in parts:
                    part.drive(ctx)
                ports = [port for part in parts for port in part.ports]
                _, _, *values = await ctx.tick().sample(*ports)
                for part in parts:
                    part.see(0, values[: len(part.ports)])
                    values = values[len(part.ports) :]
            raise AssertionError("nothing came")

        async def write(address: int, byte: int, most: int = 300) -> int:
            host = dut.host
            for port, value in ((host.address, address), (host.data, byte), (host.write, 1)):
                ctx.set(port, value)
            ctx.set(host.request, 1)
            await step(lambda: bool(ctx.get(host.done)), most)
            error = ctx.get(host.error)
            await step(partial(next, iter((False, True))))
            ctx.set(host.request, 0)
            return int(error)

        ctx.set(dut.i_started, 1)
        for turn in range(2):
            assert await write(3, 7, most=3) == UNSTARTED
            await step(lambda: bool(ctx.get(dut.o_started)))
            assert ctx.get(dut.o_status) == FlashStatus.LOADED
            assert octets[: len(DATA)].tobytes() == DATA
            assert await write(3, DATA[3] ^ 1) == 0
            assert octets[3] == DATA[3] ^ 1
            ctx.set(dut.i_again, 1)
            await step(partial(next, iter((False, True))))
            ctx.set(dut.i_again, 0)
            values.append(turn)

    simulator = Simulator(dut)
    simulator.add_clock(1e-8)
    simulator.add_testbench(bench)
    simulator.run()
    assert values == [0, 1]
    assert chip.reads == [ADDRESS, ADDRESS]
    assert memory.writes == [*range(len(DATA)), 3] * 2
