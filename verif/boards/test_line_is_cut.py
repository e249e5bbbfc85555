"""A serial line that is cut while a board is loaded: an error in time, and it is loaded anew."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest
from serial import Serial

from carrysave.boards.board import BOARDS, design_of
from carrysave.compiler.front.options import ReadOptions
from carrysave.compiler.run import network
from carrysave.compiler.run.attached import Attached
from carrysave.compiler.run.network import by_golden
from carrysave.driver import Coprocessor, LinkError
from carrysave.driver.uart import UartLink
from carrysave.system.board_network import board_program
from verif.boards.test_attached import Device
from verif.system.networks import SHAPE, convolutions

BOARD = BOARDS["ulx3s_25f"]
BYTES = 9000


class Cut:
    """A device behind a pseudo-terminal, whose line can be cut.

    Members
    -------
    left : bytes from the host that still arrive.
    """

    def __init__(self, device: Device) -> None:
        self.device = device
        self.left = 1 << 30
        self._take = device.link.take
        device.link.take = self.take  # type: ignore[method-assign]

    def take(self, byte: int) -> bytes:
        """Take a byte, if it arrives."""
        self.left -= 1
        return self._take(byte) if self.left >= 0 else b""

    def power(self) -> None:
        """Have the device lose its power for a moment."""
        self.device.link.reset()
        self.device.hardware.write(0, 1 << 31)
        self.device.memory[:] = 0xA5


@pytest.fixture
def cut() -> Iterator[Cut]:
    device = Device(design_of(BOARD, {}))
    yield Cut(device)
    device.close()


def opened(cut: Cut) -> tuple[Serial, UartLink, Coprocessor]:
    line = Serial(cut.device.port, 115200, timeout=0.02)
    link = UartLink(line, tries=2)
    return line, link, Coprocessor(link, link)


@pytest.mark.sample(2)
@pytest.mark.parametrize("left", [4000, 0, 5, BYTES - 2000])
@pytest.mark.parametrize("power", [False, True])
def test_load_goes_on_after_a_cut(cut: Cut, left: int, power: bool) -> None:
    """By the same driver, or another one; whether the device had power meanwhile or not."""
    data = np.random.default_rng(left).integers(0, 256, BYTES, np.uint8)
    line, link, device = opened(cut)
    buffer = link((BYTES,))
    buffer[:] = data
    cut.left = left
    with pytest.raises(LinkError, match=r"no answer to WRITE of 0x\w+, sent 2 times"):
        buffer.flush()
    assert buffer.lost
    with pytest.raises(LinkError):
        device.reset()
    cut.left = 1 << 30
    if power:
        cut.power()
    device.reset()
    assert link.resets == 1 + power
    with pytest.raises(LinkError, match="the matrix was lost"):
        buffer.invalidate()
    buffer.flush()
    at = buffer.device_address
    assert np.array_equal(cut.device.memory[at : at + BYTES], data)
    cut.left = left
    buffer[:] = 255 - data
    with pytest.raises(LinkError):
        buffer.flush()
    line.close()
    cut.left = 1 << 30
    line, link, device = opened(cut)
    buffer = link((BYTES,))
    buffer[:] = data
    buffer.flush()
    assert link.read_memory(buffer.device_address, BYTES) == data.tobytes()
    a, b = (np.arange(12).reshape(shape) for shape in ((3, 4), (4, 3)))
    assert np.array_equal(device.matmul(a, b), a @ b)
    line.close()


def test_network_is_loaded_anew(cut: Cut, tmp_path: Path) -> None:
    """A program whose load is cut is sent once more, and then computes what golden does."""
    onnx.save(convolutions(4), tmp_path / "model.onnx")
    design = design_of(BOARD, {})
    program = board_program(tmp_path / "model.onnx", None, 1, ReadOptions(), BOARD, design)
    x = {"x": np.random.default_rng(3).integers(0, 256, (1, *SHAPE[1:])).astype(np.uint8)}
    memory = program.memory.copy()
    expected = network.run(program, x, memory, by_golden(program, memory))
    for left in (500, len(program.memory) // 2):
        cut.left = left
        with Serial(cut.device.port, 115200, timeout=0.02) as line, pytest.raises(LinkError):
            Attached(program, line)
    cut.left = 1 << 30
    with Serial(cut.device.port, 115200, timeout=0.05) as line:
        found = Attached(program, line).run(x)
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        np.testing.assert_array_equal(found[name], values)
