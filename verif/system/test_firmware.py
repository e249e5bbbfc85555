"""The firmware: what it is compiled of, and what becomes of it."""

import struct
import sys
from pathlib import Path

import pytest

from carrysave.system.firmware import compile_firmware, header, words
from carrysave.system.generate import ROMS

FACTS = {
    "registers": {
        name: 0xF0000000 + 4 * number
        for number, name in enumerate((
            "matmul_ev_enable",
            "sdram_dfii_control",
            "sdram_dfii_pi0_command",
            "sdram_dfii_pi0_command_issue",
            "sdram_dfii_pi0_address",
            "sdram_dfii_pi0_baddress",
            "uart_rxtx",
            "uart_txfull",
            "uart_rxempty",
            "uart_ev_pending",
            "timer0_uptime_latch",
            "timer0_uptime_cycles",
        ))
    },
    "memories": {
        "rom": [0, ROMS[False]],
        "sram": [0x10000000, 0x2000],
        "main_ram": [0x40000000, 1 << 25],
        "matmul": [0x90000000, 0x1000],
    },
    "interrupt": 1,
    "sdram": [
        {"address": 0x400, "bank": 1, "command": {"control": True, "value": 11}, "delay": 200}
    ],
}


def test_header_names_the_system() -> None:
    text = header(FACTS)
    assert "#define UART_RXTX 0xf0000018u\n" in text
    assert "#define MAIN_RAM_BASE 0x40000000u\n" in text
    assert "#define SDRAM_STEPS {{0x400, 1, 0xb, 1, 200}}\n" in text


@pytest.mark.parametrize("every", [False, True])
@pytest.mark.parametrize(("cpu", "first"), [("vexriscv", 0x297), ("picorv32", 0x6F)])
def test_words_are_those_of_the_segments(
    cpu: str, first: int, tmp_path: Path, *, every: bool
) -> None:
    found = compile_firmware(FACTS, cpu, tmp_path, every=every)
    header_ = (tmp_path / "driver" / "carrysave_coprocessor.h").read_text()
    assert ("VECTOR__VALUE_bm" in header_) == every
    elf = (tmp_path / "firmware.elf").read_bytes()
    assert struct.unpack_from("<H", elf, 18) == (243,)  # RISC-V
    assert 4000 < 4 * len(found) < ROMS[False]
    # VexRiscv first says where an interrupt goes (auipc t0); PicoRV32 jumps over that (j).
    assert found[0] & 0xFFF == first
    assert words(elf) == found


def test_too_large_for_the_rom(tmp_path: Path) -> None:
    facts = {**FACTS, "memories": {**FACTS["memories"], "rom": [0, 0x800]}}  # type: ignore[dict-item]
    with pytest.raises(RuntimeError, match=r"cannot compile the firmware: .*rom.*overflow"):
        compile_firmware(facts, "vexriscv", tmp_path)


def test_no_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ziglang", None)
    with pytest.raises((ModuleNotFoundError, ValueError)):
        compile_firmware(FACTS, "vexriscv", tmp_path)
    assert not list(tmp_path.iterdir())
