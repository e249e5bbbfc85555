"""Memory that does not answer, as both drivers tell of it."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from carrysave.driver import CoprocessorError, JobError
from carrysave.driver.registers import FIELDS
from carrysave.driver.uart import UartLink
from golden.soc.serial.host_link import HostLinkFormat
from verif.soc.driver.c_link import CLink, compile_link
from verif.soc.driver.driver_checks import draw, expected
from verif.soc.driver.driver_rig import RNG
from verif.soc.driver.line_checks import Target
from verif.soc.driver.test_line import Board, device_of


@pytest.mark.parametrize(
    ("code", "name"),
    [(20, "read timeout"), (21, "write timeout"), (22, "descriptor timeout")],
)
def test_driver_says_that_memory_does_not_answer(rig: Any, code: int, name: str) -> None:
    """On which side, and where; and until memory has answered, the co-processor is lost."""
    made = rig()
    device = made.open()
    info = device.info
    a, b = draw(RNG(8), info.a, 4, 6), draw(RNG(9), info.b, 6, 2)
    jobs = [device.product(device.place(a, info.a), device.place(b, info.b)).job] * 2
    made.hardware.fault, made.hardware.fault_at = (code, 0, 0x12345678), 1
    for hangs in (False, "silent"):
        made.hardware.hangs = hangs
        says = rf"job 1: {name} \(no answer at 0x12345678\): Memory did not "
        with pytest.raises(JobError, match=says) as error:
            device.run_jobs(jobs)
        assert error.value.silent
        assert (error.value.code, error.value.address) == (code, 0x12345678)
        assert device.lost == bool(hangs)
    with pytest.raises(CoprocessorError, match="busy"):
        device.matmul(a, b)
    made.hardware.hangs, made.hardware.fault = False, None
    device.reset()
    assert np.array_equal(device.matmul(a, b), expected(made.spec, a, b))


def test_driver_counts_jobs_of_several_starts(rig: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second start's job is the second, where a build runs one job on each."""
    made = rig(ring=False)
    device, hardware = made.open(), made.hardware
    start = hardware.start

    def second() -> None:
        hardware.fault = (20, 0, 0x40) if len(hardware.starts) == 1 else None
        start()

    monkeypatch.setattr(hardware, "start", second)
    a = device.place(np.ones((2, 2), int), device.info.a)
    with pytest.raises(JobError, match="job 1: read timeout"):
        device.run_jobs([device.product(a, a).job] * 3)
    assert hardware.starts == [0, 0]


def test_other_errors_are_of_memory_that_answers() -> None:
    for code in (*range(1, 10), 16, 17, 18, 19, 99):
        assert not JobError(code, 0, 0x10, 0).silent
        assert "no answer" not in str(JobError(code, 0, 0x10, 0))


@pytest.mark.parametrize("language", ["python", "c"])
def test_line_says_that_memory_does_not_answer(language: str, tmp_path: Path) -> None:
    """A buffer that could not be written is lost; when memory answers, all goes on."""
    target = Target(RNG(1))
    link = UartLink(target.line)
    if language == "c":
        link = CLink(compile_link(tmp_path), target.line)
    buffer = link((300,))
    buffer[:] = 7
    target.link.silent = True
    for call in (buffer.flush, lambda: link.read_memory(4, 10), lambda: link((20,))):
        with pytest.raises(CoprocessorError, match="memory does not answer"):
            call()
        assert not link.failed
    assert link.read(4) == target.words[4]
    target.link.silent = target.link.started = False
    assert not link.started
    for call in (buffer.flush, lambda: link.read_memory(4, 10), lambda: link.write(0, 3)):
        with pytest.raises(CoprocessorError, match="memory has not started"):
            call()
    link.reset()
    assert not link.failed
    link.write(0, 2)
    assert (target.words[0], link.read(4)) == (2, target.words[4])
    target.link.started = True
    assert link.started
    link.write(0, 3)
    assert target.words[0] == 3
    assert buffer.lost
    buffer.flush()
    assert bytes(target.memory[:300]) == bytes([7] * 300)
    with pytest.raises(CoprocessorError, match=r"status 3|end within info"):
        link.read_memory(len(target.memory) - 1, 2)


@pytest.mark.parametrize("language", ["python", "c"])
def test_job_says_that_memory_has_not_started(language: str, tmp_path: Path) -> None:
    """Its start is refused, and it is no other's: once memory has started, it runs."""
    board = Board(RNG(1))
    link = UartLink(board.line)
    if language == "c":
        link = CLink(compile_link(tmp_path), board.line)
    device = device_of(link)
    a = device.place(np.ones((2, 2), int), device.info.a)
    jobs = [device.product(a, a).job]
    board.link.started = False
    with pytest.raises(CoprocessorError, match="memory has not started"):
        device.run_jobs(jobs)
    device.reset()
    board.link.started = True
    assert not board.hardware.starts
    device.run_jobs(jobs)
    assert len(board.hardware.starts) == 1


def test_register_that_starts_jobs_is_what_the_line_takes_it_for() -> None:
    assert FIELDS["ctrl_start"] == (HostLinkFormat.CTRL, HostLinkFormat.START.bit_length() - 1, 1)
