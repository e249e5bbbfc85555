"""Drivers in a pack: list, generation, first commands."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from carrysave import cache
from carrysave.driver_modes import modes
from carrysave.ip import driver_sources as written
from carrysave.ip import mode_tables
from carrysave.ip.facts import Facts

__all__ = ["Driver", "drivers", "files", "start", "write"]


class Driver(NamedTuple):
    """One driver.

    Members
    -------
    folder : in the pack.
    what : a short description.
    write : writes its files into a folder.
    start : first lines of a program, in Markdown.
    """

    folder: str
    what: str
    write: Callable[[Path], object]
    start: str


_PYTHON = """\
Python, {with_what}{codes}:

```python
import sys
sys.path.insert(0, "drivers/python")
import numpy as np
{imports}

{device}
{operands}
c = device.matmul({arguments}){unit}
```"""

_PYNQ = """\
with PYNQ (without it: `MappedRegisters`, `DmaMemory` and `UioInterrupt` of
`carrysave_driver.linux`)"""

_DMAS = "with PYNQ, and DMAs on the streams (two, one of which also takes C)"

_ON_MEMORY = """\
device = Coprocessor(MMIO(0x3000_0000, 512), allocate)"""

_ON_STREAMS = """\
system = Overlay("system.bit")
device = CoprocessorStream(
    MMIO(0x3000_0000, 512),
    allocate,
    a=system.dma_a.sendchannel,
    b=system.dma_b.sendchannel,
    c=system.dma_a.recvchannel,
)"""

_MODE = """\
mode = MODES["{a}", "{b}"]  # formats of A and of B
a, b = np.ones((100, 200), mode.a.dtype), np.ones((200, 300), mode.b.dtype)"""

_SCALES = """
a_scales = np.full((100, mode.blocks(200)), {one}, np.uint8)  # 1.0, for each row of each block
b_scales = np.full((mode.blocks(200), 300), {one}, np.uint8)"""

_KEPT = """

Codes can stay on the device; B lies there by words along K:

```python
left, right = device.place(a, mode.a), device.place(mode.words(b), mode.b)
{scales}product = device.product(left, right, mode=mode{more})
device.run([product])
c = product.c.read(){unit}
```"""

_KEPT_SCALES = """\
scales = {name: device.place(values, mode.scales) for name, values in
          (("a_scales", a_scales), ("b_scales", b_scales))}
"""

_TRANSFERS = """

A stream is one transfer: the DMAs' registers of lengths must be wide enough for it. No such system
was built so far; the tests run the driver on the simulated block. `device.streams` of a
`device.product(...)` are the bytes alone, and `device.take` makes C of them again."""

_C = """\
C, with `drivers/c/*.c` compiled along, `-Idrivers/c -Iregisters`{how}:

```c
{includes}

carrysave device;
carrysave_job job;
{declarations}carrysave_open(&device, (volatile void *)0x30000000, NULL);
{reset}carrysave_job_init{mode},{space}100, 300, 200, false); /* M, N, K, sums */
{places}carrysave_plan(&device, &job);
{run}
```"""

_C_MEMORY = {
    "declarations": "",
    "reset": "",
    "places": "job.a = 0x10000000; job.b = 0x10100000; job.c = 0x10200000;\n",
    "run": """\
if (carrysave_start(&device, &job) == CARRYSAVE_OK)
    carrysave_wait(&device, 0, NULL, NULL);""",
}

_C_STREAM = {
    "declarations": """\
carrysave_streams streams = {0}; /* functions and buffers of yours, for your DMAs */
carrysave_matrices matrices = {0}; /* arrays of yours, in rows at job.lda, job.ldb, job.ldc */
""",
    "reset": "carrysave_stream_reset(&device, &streams);\n",
    "places": "",
    "run": """\
/* Each buffer has as many bytes as carrysave_stream_bytes says. */
carrysave_stream_run(&device, &job, &matrices, &streams, 0, NULL, NULL);""",
}

_FOLDER, _C_FOLDER = "drivers/python/carrysave_driver", "drivers/c"
_WHAT = "Python, with numpy alone"
_C_WHAT = "C driver, C99 or C++, of the header in `registers/`"


def drivers(block: Facts) -> tuple[Driver, ...]:
    """List the drivers of a pack."""
    c = partial(written.c, stream=block.spec.STREAM)
    return (
        Driver(_FOLDER, _WHAT, written.python, _python_start(block)),
        Driver(_C_FOLDER, _C_WHAT, c, _c_start(block)),
    )


def _python_start(block: Facts) -> str:
    """Fill in the lines for the engine and its surroundings; formats are the last pair."""
    spec, pairs = block.spec, list(modes(block.spec))
    scaled = spec.inside.block != 0
    kind = "CoprocessorStream" if spec.STREAM else "Coprocessor"
    lines = {
        "with_what": _DMAS if spec.STREAM else _PYNQ,
        "device": _ON_STREAMS if spec.STREAM else _ON_MEMORY,
        "imports": f"from carrysave_driver import {kind}\n",
        "codes": "",
        "operands": "a, b = np.ones((100, 200), np.int8), np.ones((200, 300), np.int8)",
        "arguments": "a, b",
        "unit": "",
    }
    rest = ""
    if pairs:
        a, b = pairs[-1]
        lines["codes"] = ".\nA and B are of codes, of a type that holds them"
        lines["codes"] += "; C is float32" if scaled else "; sums are exact"
        lines["imports"] += "from carrysave_modes import MODES\n"
        lines["operands"] = _MODE.format(a=a, b=b)
        lines["arguments"] += ", mode=mode"
        lines["unit"] = "" if scaled else " * 2.0**mode.exponent"
        more, placed = ("", "") if not scaled else (", **scales", _KEPT_SCALES)
        rest = _KEPT.format(unit=lines["unit"], more=more, scales=placed)
    if scaled:
        one = 127 if modes(spec)[pairs[-1]].scales.high == 255 else 56
        lines["operands"] += _SCALES.format(one=one)
        lines["arguments"] += ", a_scales=a_scales, b_scales=b_scales"
    lines["imports"] += f"from pynq import MMIO, {'Overlay, ' if spec.STREAM else ''}allocate"
    return _PYTHON.format(**lines) + (_TRANSFERS if spec.STREAM else rest)


def _c_start(block: Facts) -> str:
    """Fill in the lines for the engine and its surroundings; formats are the last pair."""
    spec, pairs = block.spec, list(modes(block.spec))
    lines = {
        "how": "", "mode": "(&device, &job", "space": " ",
        "includes": f'#include "carrysave{"_stream" * spec.STREAM}.h"',
        **(_C_STREAM if spec.STREAM else _C_MEMORY),
    }  # fmt: skip
    if pairs:
        name = "_".join(pairs[-1]).upper()
        lines["how"] = ";\n`carrysave.h` says how codes of a mode lie in memory"
        lines["space"] = "\n                        "
        lines["mode"] = f"_mode(&device, &job, &carrysave_modes[CARRYSAVE_{name}]"
        lines["includes"] = f'#include "carrysave_modes.h"\n{lines["includes"]}'
    if spec.inside.block and not spec.STREAM:
        lines["places"] += "job.a_scales = 0x10300000; job.b_scales = 0x10400000;\n"
    return _C.format(**lines)


def write(block: Facts, pack: Path) -> list[str]:
    """Write all drivers into a pack; return their file names."""
    for driver in drivers(block):
        driver.write(pack / driver.folder)
    for name, (text, _) in _tables(block).items():
        cache.write(pack / name, text)
    files = (path for path in (pack / "drivers").rglob("*") if path.is_file())
    return sorted(str(path.relative_to(pack)) for path in files)


def _tables(block: Facts) -> dict[str, tuple[str, str]]:
    """Write the drivers' tables of the engine's formats, and describe them."""
    found = modes(block.spec)
    if not found:
        return {}
    what = "pairs of formats: `{}` by the names of A's and of B's"
    tables = {
        f"drivers/python/{mode_tables.PYTHON_NAME}": (
            mode_tables.python(found), what.format("MODES")
        )
    }  # fmt: skip
    tables[f"{_C_FOLDER}/{mode_tables.C_NAME}"] = (
        mode_tables.c(found), what.format("carrysave_modes")
    )  # fmt: skip
    return tables


def files(block: Facts) -> str:
    """List them, as rows of the README's table of files."""
    rows = [(f"{driver.folder}/", driver.what) for driver in drivers(block)]
    rows += [(name, what) for name, (_, what) in _tables(block).items()]
    return "".join(f"| `{name}` | {what} |\n" for name, what in rows)


def start(block: Facts) -> str:
    """Return the first commands, as Markdown."""
    return "".join(f"{driver.start}\n\n" for driver in drivers(block))
