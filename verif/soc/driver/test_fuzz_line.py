"""Any bytes from a serial line: what a host reads is right, or is an error that says so."""

import contextlib
import secrets
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from carrysave.driver import CoprocessorError, LinkError
from carrysave.driver.uart import _FLASHES, UartLink
from golden.soc.serial.host_link import HostLinkFormat, frame
from verif.soc.driver.c_link import SANITISED, CLink, compile_link
from verif.soc.driver.faulty_line import damage
from verif.soc.driver.line_checks import Target
from verif.support.fuzz import fuzz, minutes

READS = 1 << 21
"""Of the port, at most, by all that one script has a host do."""

WRONG = (
    bytes([4, 6, 0, 0, 0, 0, 0, 0]),
    bytes([4, 2, 0, 255, 4, 2, 0, 127]),
    bytes([4, 2, 9, 0, 4, 2, 10, 15]),
    bytes([7, 0]),
    *(bytes([3, number]) + bytes(number) for number in range(2, 32, 2)),
)
"""Scripts: frames that say anything, the answer before this one, damaged answers."""
ENDLESS = tuple(bytes([6, 7]) + one * 7 for one in (b"\0", b"\x7e", b"\x7d", b"\x7e\x01"))


class Scripted:
    """A port whose answers a script chooses, one byte of it for each message of the host.

    Members
    -------
    script : what is left of it; behind its end, nothing comes.
    """

    timeout: float | None = 1.0
    baudrate = 1 << 30
    _NOTHING, _TRUE, _NOISE, _DAMAGED, _FRAME, _SILENCE, _ENDLESS, _LATE = range(8)

    def __init__(self, target: Target, *, framed: bool) -> None:
        self.target = target
        self.script = b""
        self.reads = 0
        self._framed = framed
        self._came = bytearray()
        self._endless = b""
        self._number = 0
        self._before = b""

    def write(self, data: bytes) -> None:
        """Let the script answer a message, whose first byte is its number."""
        answer = b"".join(self.target.link.take(byte) for byte in data)
        if data[0] == HostLinkFormat.END:
            self._number = _number(data)
        kind, count = self._next() % 8, self._next() % 32
        more, self.script = self.script[:count], self.script[count:]
        if kind == self._TRUE:
            self._came += answer
        elif kind == self._NOISE:
            self._came += more
        elif kind == self._DAMAGED and answer:
            at = count % len(answer)
            flipped = answer[:at] + bytes([answer[at] ^ 1]) + answer[at + 1 :]
            self._came += flipped if count < 8 else damage(np.random.default_rng(count), answer)
        elif kind == self._FRAME and self._framed:
            self._came += frame(bytes([self._number]) + more)
        elif kind == self._ENDLESS and count % 8 == 7:
            self._endless = more
        elif kind == self._LATE:
            self._came += self._before + answer

        self._before = answer or self._before

    def read(self, size: int) -> bytes:
        """Take bytes that came."""
        self.reads += 1
        assert self.reads < READS, "a host waits for ever"
        taken, self._came = bytes(self._came[:size]), self._came[size:]
        if not taken and self._endless:
            taken = (self._endless * size)[:size]
        return taken

    def _next(self) -> int:
        first, self.script = self.script[:1], self.script[1:]
        return first[0] if first else self._NOTHING

    def settle(self) -> None:
        """Have a good line again."""
        self.script = bytes([self._TRUE, 0]) * 100
        self._came.clear()
        self._endless = b""


def _number(data: bytes) -> int:
    """Return the number of a message."""
    escaped = data[1] == HostLinkFormat.ESCAPE
    return data[2] ^ HostLinkFormat.FLIP if escaped else data[1]


@pytest.fixture(autouse=True)
def numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sequence numbers begin at 0."""
    monkeypatch.setattr(secrets, "randbelow", lambda number: 0)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return compile_link(tmp_path_factory.mktemp("link"), SANITISED)


def accesses(link: UartLink, target: Target) -> Iterator[tuple[Any, Any]]:
    """Access memory and registers; yield what was read, and what is there."""
    for _ in range(3):
        yield link.read(4), target.words[4]
        yield link.read(12), target.words[12]
        yield link.read_memory(70, 9), target.memory[70:79].tobytes()
        link.write(8, 0x7D7E)
        yield 0x7D7E, target.words[8]
        link.write_memory(600, bytes(range(100, 220)))
        yield bytes(range(100, 220)), target.memory[600:720].tobytes()
        yield link.read_memory(590, 140), target.memory[590:730].tobytes()
        yield link.started, True
        if not isinstance(link, CLink):
            yield link.flash in _FLASHES, True
        link.reset()


@minutes
@pytest.mark.parametrize("framed", [False, True], ids=["noise", "frames"])
@pytest.mark.parametrize("driver", ["python", "c"])
def test_whatever_comes(
    library: Any, driver: str, framed: bool, seconds: float, capfd: pytest.CaptureFixture[str]
) -> None:
    """Noise and late answers, or also whole frames of a device that says anything."""

    def one(script: bytes) -> None:
        target = Target(np.random.default_rng(1))
        port = Scripted(target, framed=framed)
        port.settle()
        link = UartLink(port, tries=3) if driver == "python" else CLink(library, port, 3)
        port.script = script
        with contextlib.suppress(CoprocessorError if framed else LinkError):
            for read, there in accesses(link, target):
                assert framed or read == there
        port.settle()
        link.reset()
        assert link.read_memory(0, 64) == target.memory[:64].tobytes()
        assert link.read(12) == target.words[12]

    true = bytes([Scripted._TRUE, 0])
    one(true * 99)
    known = [true * count + wrong for count in range(9) for wrong in WRONG]
    known += [true * 3 + one for one in ENDLESS]
    fuzz(one, st.binary(max_size=200), seconds, known)
    assert "runtime error" not in (said := capfd.readouterr().err), said


def test_noise_without_an_end_is_dropped() -> None:
    """Else each byte would search all that came before it."""
    target = Target(np.random.default_rng(1))
    port = Scripted(target, framed=False)
    port.settle()
    link = UartLink(port, tries=2)
    port.script = ENDLESS[0]
    with pytest.raises(LinkError, match="no answer to READ_WORD"):
        link.read(4)
    assert port.reads > 1 << 16
    assert len(link._line._came) <= 2 * (4 + 6 + 1)


def test_a_device_whose_flash_has_no_such_status_is_another_one() -> None:
    target = Target(np.random.default_rng(1))
    port = Scripted(target, framed=True)
    port.settle()
    link = UartLink(port, tries=2)
    port.script = bytes([4, 2, 12, 112])
    with pytest.raises(CoprocessorError, match="another device answers, whose flash has status 7"):
        link.flash  # noqa: B018
