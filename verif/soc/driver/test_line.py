"""Both drivers on a line with faults."""

import ctypes
import gc
import itertools
import secrets
import zlib
from typing import Any

import numpy as np
import pytest

from carrysave.driver import Coprocessor, CoprocessorError, LinkError
from carrysave.driver.uart import UartLink
from golden.soc.serial.host_link import HostLink, HostLinkFormat, frame
from verif.soc.driver.c_link import CLineDevice, CLink, compile_link
from verif.soc.driver.c_structs import CCounters
from verif.soc.driver.driver_checks import draw, expected
from verif.soc.driver.driver_rig import SPECS
from verif.soc.driver.faulty_line import FaultyLine
from verif.soc.driver.line_checks import Target, check_accesses
from verif.soc.driver.software_device import SoftwareDevice
from verif.support.cases import long


@pytest.fixture(autouse=True)
def numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sequence numbers begin at 0."""
    monkeypatch.setattr(secrets, "randbelow", lambda number: 0)


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return compile_link(tmp_path_factory.mktemp("link"))


@pytest.fixture(params=["python", "c"])
def opened(request: pytest.FixtureRequest, library: Any) -> Any:
    """Open a link of either driver."""

    def link(line: FaultyLine, tries: int = 8) -> UartLink:
        if request.param == "c":
            return CLink(library, line, tries)
        return UartLink(line, tries=tries, burst=100)

    return link


@pytest.mark.parametrize(
    ("faults", "rate", "tries"),
    [
        (300, 0.1, 8),
        (300, 0.6, 8),
        (400, 0.3, 2),
        *long([(35_000, 0.1, 8), (30_000, 0.6, 8), (35_000, 0.3, 2)]),
    ],
)
def test_line_repairs_faults_or_says_so(opened: Any, faults: int, rate: float, tries: int) -> None:
    target = Target(np.random.default_rng(faults))
    errors = check_accesses(target, lambda line: opened(line, tries), faults, rate)
    assert faults / 50 < errors < faults / 2


class Board:
    """A co-processor in software behind a line."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.spec = SPECS["int8"]
        self.rng = rng
        self.memory = np.zeros(1 << 14, np.uint8)
        self.hardware = SoftwareDevice(self.spec, self.memory)
        self.link = HostLink(self.memory, self)
        self.line = FaultyLine(self.link.take, self.reset, rng)

    def read(self, address: int) -> tuple[int, int]:
        """Read a register."""
        return self.hardware.read(address), 0

    def write(self, address: int, value: int) -> int:
        """Write a register."""
        self.hardware.write(address, value)
        return 0

    def reset(self) -> None:
        """Reset the device, and lose the memory."""
        self.link.reset()
        self.hardware.write(0, 1 << 31)
        self.memory[:] = self.rng.integers(0, 256, len(self.memory), dtype=np.uint8)


def device_of(link: UartLink) -> Coprocessor:
    """Open a co-processor, by the driver of its link."""
    ticks = itertools.count()
    more: dict[str, Any] = {"clock": lambda: next(ticks) * 0.001, "timeout": 3.0}
    if isinstance(link, CLink):
        return CLineDevice(link._library, link, **more)
    return Coprocessor(link, link, **more)


@pytest.mark.prove
@pytest.mark.parametrize(
    ("faults", "rate"), [(15, 0.01), *long([(30, 0.01), (1000, 0.002), (9000, 0.02)])]
)
def test_products_are_right_whatever_the_line_does(opened: Any, faults: int, rate: float) -> None:
    """With B that stays on the device, and is lost with it."""
    rng = np.random.default_rng(faults)
    board = Board(rng)
    link = opened(board.line, 3)
    device = device_of(link)
    info = device.info
    b = draw(rng, info.b, 9, 4)
    weights = device.place(b, info.b)
    right = wrong = 0
    while board.line.bad < faults:
        board.line.rate = rate
        a = draw(rng, info.a, int(rng.integers(1, 6)), 9)
        try:
            found = device.matmul(a, weights)
            right += 1
        except LinkError:
            wrong += 1
            board.line.rate = 0.0
            board.line.settle()
            device.reset()
            if weights.lost:
                with pytest.raises(LinkError, match="b was lost"):
                    device.matmul(a, weights)
                weights.write(b)
            found = device.matmul(a, weights)
        assert np.array_equal(found, expected(board.spec, a, b))
        assert not device.lost
        gc.collect()
        assert len(link._room._used) == 1
    assert right > 10
    assert wrong > faults / 100


def test_dead_line_leaks_no_room(opened: Any) -> None:
    """Each error gives back what was allocated; the link is usable once bytes arrive again."""
    rng = np.random.default_rng(1)
    board = Board(rng)
    link = opened(board.line, 1)
    device = device_of(link)
    a, b = draw(rng, device.info.a, 40, 50), draw(rng, device.info.b, 50, 40)
    for after in range(40):
        board.line.lost = range(board.line.sent + after, 1 << 60)
        with pytest.raises(LinkError):
            device.matmul(a, b)
        with pytest.raises(LinkError):
            device.reset()
        board.line.lost = range(0)
        device.reset()
    assert np.array_equal(device.matmul(a, b), expected(board.spec, a, b))
    gc.collect()
    assert not link._room._used
    with device.place(a, device.info.a):
        assert len(link._room._used) == 1
    assert not link._room._used


def test_c_driver_tells_of_each_lost_message(library: Any) -> None:
    """No call goes on with what it has not read, or has not written."""
    board = Board(np.random.default_rng(1))
    line = board.line
    device: Any = device_of(CLink(library, line, 1))
    wanted = bytes(device._device.info)
    a, b = (device.place(np.ones((2, 2), int), device.info.a) for _ in range(2))
    job = ctypes.byref(device.c_job(device.product(a, b).job))
    counters = ctypes.byref(CCounters())

    def losing(name: str, *arguments: Any) -> int:
        """Call with one message lost after the other, until all are; returns how many were."""
        number = 0
        while True:
            assert device.call("reset") == 0
            if name == "wait":
                assert device.call("start", job) == 0
            line.sent, line.lost = 0, range(number, number + 1)
            status = device.call(name, *arguments)
            late, line.lost = line.sent <= number, range(0)
            if late:
                assert status == 0
                return number
            assert status == 16, (name, number)
            number += 1

    uart = ctypes.byref(device._link.state)
    assert losing("open", None, uart) > 50
    assert bytes(device._device.info) == wanted
    assert losing("start", job) > 60
    assert losing("wait", *device.waits(3.0)) > 6
    assert losing("read_counters", counters) == 28
    assert losing("reset") > 6


def test_late_frame_does_no_harm() -> None:
    """A frame that was answered comes once more, and damaged."""
    target = Target(np.random.default_rng(1))
    target.link.take(0)
    link = UartLink(target.line)
    link.write_memory(0, bytes(range(20)))
    header = bytes([link._line._sequence, 0, 0, 0, HostLinkFormat.WRITE, 20, 0, 0, 0])
    late = frame(header + zlib.crc32(header).to_bytes(4, "little") + bytes(20))
    link._line._port.write(late[:-6] + b"x" + late[-5:])
    assert link.read_memory(0, 20) == bytes(range(20))


def test_frame_has_the_crc_of_the_catalogues() -> None:
    """CRC-32/ISO-HDLC: its check value, and what RFC 1662 escapes."""
    assert frame(b"123456789") == b"~123456789" + bytes.fromhex("2639f4cb") + b"~"
    assert frame(b"~}")[:5] == b"~}^}]"


class Unplugged:
    """A port whose device is gone."""

    timeout: float | None = 1.0
    baudrate = 9600

    def read(self, size: int) -> bytes:
        raise OSError("device disconnected")

    def write(self, data: bytes) -> None:
        raise OSError("device disconnected")


def test_link_refuses() -> None:
    with pytest.raises(LinkError, match="the serial line failed: device disconnected"):
        UartLink(port := Unplugged())
    for name, value in (("tries", 0), ("burst", 0), ("burst", 65536)):
        with pytest.raises(ValueError, match=f"{name} must be .*, not {value}"):
            UartLink(port, **{name: value})
    for wrong in (None, 0):
        port.timeout = wrong
        with pytest.raises(ValueError, match=f"timeout must be more than 0 s, not {wrong}"):
            UartLink(port)
    target = Target(np.random.default_rng(1))
    link = UartLink(target.line)
    with pytest.raises(ValueError, match=r"address must be 0..16777215, not 16777216"):
        link.read(1 << 24)
    with pytest.raises(ValueError, match=r"address must be 0..4294967295, not 4294967296"):
        link.read_memory(1 << 32, 1)
    for beyond in (4095, 1 << 24):
        with pytest.raises(CoprocessorError, match=f"READ of {beyond:#x} has status 3"):
            link.read_memory(beyond, 2)
    with pytest.raises(CoprocessorError, match="WRITE_WORD of 0x80 has status 2"):
        link.write(0x80, 1)
    target.line.lost = range(1 << 60)
    with pytest.raises(LinkError, match="no answer to READ_WORD of 0x4, sent 8 times"):
        link.read(4)
