"""Firmware of a system: the project's C driver and what is in ``c``, compiled by zig's clang.

Zig comes as a Python package, which no Debian package of a cross-compiler is needed beside.
"""

import os
import struct
import sys
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

from carrysave import cache
from carrysave.errors import needs
from carrysave.ip import driver_sources
from carrysave.ip.registers import write_header
from hw.emit import tools
from hw.soc.registers.rdl import EVERY, MAP, parameters_of, register_map

__all__ = ["compile_firmware", "header", "words"]

_FOLDER = Path(__file__).parent / "c"
_SOURCES = ("start.S", "main.c", "line.c", "library.c")
_DRIVER = (
    "carrysave.c",
    "carrysave_device.c",
    "carrysave_job.c",
    "carrysave_matrix.c",
    "carrysave_plan.c",
    "carrysave_program.c",
    "carrysave_run.c",
    "carrysave_vector.c",
    "carrysave_window.c",
)
_FLOATS = ("carrysave_floats.c", "carrysave_single.c")
_HEADER, _LINKER, _ELF = "system.h", "link.ld", "firmware.elf"
_FLAGS = (
    "-target", "riscv32-freestanding-none", "-mcpu=generic_rv32+m", "-std=c99", "-O2", "-Wall",
    "-Wextra", "-Werror", "-ffreestanding", "-fno-builtin", "-nostdlib", "-ffunction-sections",
    "-fdata-sections", "-Wl,--gc-sections", f"-Wl,-T,{_LINKER}", "-I.", "-Idriver",
    '-DCARRYSAVE_CONFIG="platform.h"',
)  # fmt: skip
_SOFTWARE, _HARDWARE = 0x0E, 0x01
"""Who controls SDRAM, and that it is clocked and not reset, in LiteDRAM's register."""
_LOAD = 1
"""Type of a segment that is loaded."""


def compile_firmware(
    facts: Mapping[str, Any],
    cpu: str,
    folder: Path,
    *,
    every: bool = False,
    floats: bool = False,
) -> list[int]:
    """Compile the firmware of a system into a folder, with its sources; return the ROM's words.

    Parameters
    ----------
    facts : of :mod:`carrysave.system.litex_soc`.
    cpu : the processor that runs it, by LiteX's name.
    every : the co-processor has jobs that not all have, on windows, rows, or a packed B, which take
        more of it.
    floats : programs may have steps on floats, which take more of it: arithmetic in software.

    Raises
    ------
    ModuleNotFoundError
        The package of the compiler is not installed.
    RuntimeError
        The compiler refuses, or the firmware is too large; says why.
    """
    needs("ziglang")
    _write_sources(facts, folder, every=every)
    files = sorted(path for path in folder.rglob("*") if path.suffix in (".h", ".c", ".S", ".ld"))
    texts: list[bytes] = [path.read_bytes() for path in files]
    flags = [*_FLAGS, f"-DCPU_{cpu.upper()}", f"-DCARRYSAVE_FLOATS={floats:d}"]
    flags += ["-ffp-contract=off", "-lcompiler_rt"] if floats else []
    parts: list[str | bytes] = [*texts, *flags, metadata.version("ziglang")]

    def make(entry: Path) -> None:
        with tools.workplace() as work:
            for path in files:
                cache.write(work / path.relative_to(folder), path.read_bytes())
            driver = [*_DRIVER, *(_FLOATS if floats else ())]
            sources = [*_SOURCES, *(f"driver/{name}" for name in driver)]
            command = [sys.executable, "-m", "ziglang", "cc", *flags, *sources, "-o", _ELF]
            caches = {"ZIG_GLOBAL_CACHE_DIR": "global", "ZIG_LOCAL_CACHE_DIR": "local"}
            done = tools.run(command, cwd=work, environment={**os.environ, **caches})
            if done.code or not (work / _ELF).exists():
                errors = [line for line in done.output.splitlines() if "error" in line]
                raise RuntimeError(f"cannot compile the firmware: {(errors or ['?'])[0]}")
            (entry / _ELF).write_bytes((work / _ELF).read_bytes())

    elf = (cache.entry("firmware", parts, make) / _ELF).read_bytes()
    cache.write(folder / _ELF, elf)
    return words(elf)


def _write_sources(facts: Mapping[str, Any], folder: Path, *, every: bool) -> None:
    """Write the firmware's sources, the driver's, and what they need to know of the system."""
    for name in (*_SOURCES, "line.h", "platform.h", "string.h"):
        cache.write(folder / name, (_FOLDER / name).read_bytes())
    linker = (_FOLDER / _LINKER).read_text()
    for name in ("rom", "sram"):
        for word, value in zip(("BASE", "SIZE"), facts["memories"][name], strict=True):
            linker = linker.replace(f"{name.upper()}_{word}", f"{value:#x}")
    cache.write(folder / _LINKER, linker)
    cache.write(folder / _HEADER, header(facts))
    driver_sources.c(folder / "driver")
    # What else the driver uses of the map is the same in every build.
    more = dict(EVERY) if every else {}
    top = register_map(dict.fromkeys(parameters_of(), 0) | more)
    write_header(top, folder / "driver" / f"{MAP}.h")


def header(facts: Mapping[str, Any]) -> str:
    """Return the C header of a system: addresses, the interrupt, how SDRAM is started."""
    lines = ["#define SYSTEM_REGISTER(name) (*(volatile uint32_t *)(name))"]
    lines += [f"#define {name.upper()} {at:#x}u" for name, at in facts["registers"].items()]
    for name, (base, size) in facts["memories"].items():
        lines += [
            f"#define {name.upper()}_BASE {base:#x}u",
            f"#define {name.upper()}_SIZE {size:#x}u",
        ]
    lines += [
        f"#define MATMUL_INTERRUPT {facts['interrupt']}",
        f"#define SDRAM_SOFTWARE {_SOFTWARE}",
        f"#define SDRAM_HARDWARE {_HARDWARE}",
    ]
    steps = [
        f"{{{step['address']:#x}, {step['bank']}, {step['command']['value']:#x},"
        f" {step['command']['control']:d}, {step['delay']}}}"
        for step in facts["sdram"]
    ]
    if steps:  # else it starts by itself
        lines.append(f"#define SDRAM_STEPS {{{', '.join(steps)}}}")
    return "#ifndef SYSTEM_H\n#define SYSTEM_H\n\n#include <stdint.h>\n\n{}\n\n#endif\n".format(
        "\n".join(lines)
    )


def words(elf: bytes) -> list[int]:
    """Return the words of the ROM, from address 0, of an ELF file for 32 bits."""
    assert elf[:5] == b"\x7fELF\x01"
    (start,) = struct.unpack_from("<I", elf, 28)
    size, count = struct.unpack_from("<HH", elf, 42)
    image = bytearray()
    for number in range(count):
        kind, offset, _, at, length = struct.unpack_from("<5I", elf, start + size * number)
        if kind == _LOAD and length:
            image += bytes(max(0, at + length - len(image)))
            image[at : at + length] = elf[offset : offset + length]
    image += bytes(-len(image) % 4)
    return list(struct.unpack(f"<{len(image) // 4}I", image))
