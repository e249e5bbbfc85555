"""Both drivers on a line with faults."""

import gc
import itertools
import secrets
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from carrysave.driver import Coprocessor, LinkError
from carrysave.driver.uart import UartLink
from golden.soc.serial.host_link import HostLink
from verif.soc.driver.c_link import CLineDevice, CLink, compile_link
from verif.soc.driver.driver_checks import draw, expected
from verif.soc.driver.driver_rig import SPECS
from verif.soc.driver.faulty_line import FaultyLine
from verif.soc.driver.line_checks import Things, check_accesses
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
        *long([(30_000, 0.1, 8), (30_000, 0.6, 8), (30_000, 0.3, 2)]),
    ],
)
def test_line_repairs_faults_or_says_so(opened: Any, faults: int, rate: float, tries: int) -> None:
    things = Things(np.random.default_rng(faults))
    errors = check_accesses(things, lambda line: opened(line, tries), faults, rate)
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


@pytest.mark.parametrize(("faults", "rate"), [(30, 0.01), *long([(1000, 0.002), (9000, 0.02)])])
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
