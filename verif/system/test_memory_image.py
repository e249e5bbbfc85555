"""Memory of a simulated system: in files of its banks, and addresses beyond those of a frame."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from carrysave.driver.line import Command
from carrysave.driver.system import RUN_WORDS, Plan, System, Tensor
from carrysave.system.memory_image import LAST, Banks, with_dump
from golden.soc.serial.host_link import frame

BANKS = Banks(files=("a.init", "b.init", "c.init", "d.init"), columns=8, width=2)


@pytest.mark.parametrize("size", [1, 16, 17, 64, 65, 999])
def test_bytes_come_back(size: int, tmp_path: Path) -> None:
    memory = np.random.default_rng(size).integers(0, 256, size).astype(np.uint8)
    BANKS.write(memory, tmp_path)
    for name in BANKS.files:
        words = (tmp_path / name).read_text()
        (tmp_path / f"{name}.after").write_text(f"// 0x0\n@0\n{words}")
    np.testing.assert_array_equal(BANKS.read(size, tmp_path), memory)


def test_words_of_banks(tmp_path: Path) -> None:
    """A row of a bank, then of the next; the low byte of a word first."""
    memory = np.arange(16 * 4 * 2).astype(np.uint8)
    BANKS.write(memory, tmp_path)
    words = [(tmp_path / name).read_text().split() for name in BANKS.files]
    assert (tmp_path / LAST).read_text() == "f\n"
    assert [len(bank) for bank in words] == [16] * 4
    assert words[0][:2] == ["0100", "0302"]
    assert words[1][0] == "1110"
    assert words[0][8] == "4140"


def test_words_that_a_model_leaves_out(tmp_path: Path) -> None:
    """Each second one is of the memory."""
    banks = replace(BANKS, every=2)
    memory = np.arange(16 * 4 * 2).astype(np.uint8)
    banks.write(memory, tmp_path)
    words = (tmp_path / "a.init").read_text().split()
    assert (tmp_path / LAST).read_text() == "1f\n"
    assert words[:5] == ["0100", "0000", "0302", "0000", "0504"]
    for name in banks.files:
        (tmp_path / f"{name}.after").write_text((tmp_path / name).read_text())
    np.testing.assert_array_equal(banks.read(memory.size, tmp_path), memory)


def test_the_simulator_writes_each_bank() -> None:
    verilog = "\n".join(
        f'initial $readmemh("{name}", mem_{number});' for number, name in enumerate(BANKS.files)
    )
    found = with_dump(f"module x;\n{verilog}\nendmodule\n", BANKS)
    assert found.endswith("end\nendmodule\n")
    assert '$writememh("c.init.after", mem_2, 0, sdram_last[0]);' in found


class _Port:
    """Notes commands, and answers each with zeros."""

    def __init__(self) -> None:
        self.sent: list[tuple[int, ...]] = []
        self.timeout: float | None = 1.0
        self.baudrate = 3_000_000
        self._answer = b""

    def write(self, data: bytes) -> None:
        first, *rest = data.strip(b"\x7e").split(b"\x7d")
        header = first + b"".join(bytes([part[0] ^ 0x20]) + part[1:] for part in rest)
        value, sequence = int.from_bytes(header[5:9], "little"), header[:1]
        command = Command(header[4])
        self.sent.append((command, int.from_bytes(header[1:4], "little"), value))
        size = {Command.READ: value & 0xFFFF, Command.RUN: 4 * len(RUN_WORDS)}.get(command, 0)
        size += command == Command.HELLO
        self._answer = frame(sequence + bytes(size + 1))

    def read(self, size: int) -> bytes:
        taken, self._answer = self._answer[:size], self._answer[size:]
        return taken


def test_addresses_beyond_a_frame() -> None:
    """24 bits are in its address, more above the count in its value."""
    port = _Port()
    tensor = Tensor(np.array([0x1234567]), np.dtype(np.int8), 0)
    plan = Plan({0x1FFFFFF: b"x"}, 0x1000004, {}, [(tensor, [])], rings=(8,))
    system = System(port, plan, 2.0)
    system.load()
    system.run({})
    assert port.sent == [
        (Command.HELLO, 0, 0),
        (Command.WRITE, 0xFFFFFF, 1 | 1 << 16),
        (Command.RUN, 4, 1 << 16),
        (Command.READ, 0x234567, 1 | 1 << 16),
        (Command.READ, 8, 56),
    ]
