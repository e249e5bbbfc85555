"""Drivers in a pack: which there are, how they are written, what to type first."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from carrysave import paths
from carrysave.integration import driver_sources as written
from carrysave.integration import mode_tables
from carrysave.integration.block import Block
from carrysave.modes import modes

__all__ = ["Driver", "drivers", "files", "start", "write"]


class Driver(NamedTuple):
    """One driver.

    Members
    -------
    folder : its own, in the pack.
    what : it is, in a few words.
    write : writes its files into a folder.
    start : first lines of a program, in Markdown.
    """

    folder: str
    what: str
    write: Callable[[Path], object]
    start: str


_PYTHON = """\
Python, with PYNQ (without it: `MappedRegisters`, `DmaMemory` and `UioInterrupt` of
`carrysave_driver.linux`):

```python
import sys
sys.path.insert(0, "drivers/python")
import numpy as np
from carrysave_driver import Coprocessor
from pynq import MMIO, allocate

device = Coprocessor(MMIO(0x3000_0000, 512), allocate)
a, b = np.ones((100, 200), np.int8), np.ones((200, 300), np.int8)
c = device.matmul(a, b)
```"""

_PYTHON_MODES = """\
Python, with PYNQ (without it: `MappedRegisters`, `DmaMemory` and `UioInterrupt` of
`carrysave_driver.linux`). A and B are of codes, of a type that holds them; sums are exact:

```python
import sys
sys.path.insert(0, "drivers/python")
import numpy as np
from carrysave_driver import Coprocessor
from carrysave_modes import MODES
from pynq import MMIO, allocate

device = Coprocessor(MMIO(0x3000_0000, 512), allocate)
mode = MODES["{a}", "{b}"]  # formats of A and of B
a, b = np.ones((100, 200), mode.a.dtype), np.ones((200, 300), mode.b.dtype)
c = device.matmul(a, b, mode=mode) * 2.0**mode.exponent
```

Codes can stay on the device; B lies there by words along K:

```python
left, right = device.place(a, mode.a), device.place(mode.words(b), mode.b)
product = device.product(left, right, mode=mode)
device.run([product])
c = product.c.read() * 2.0**mode.exponent
```"""

_JOBS = """\
Python, in jobs alone, as the engine has {feature}: by `Coprocessor` of `carrysave_driver`, between
streams `CoprocessorStream`. `carrysave_modes` says what jobs need to know of formats:

```python
import sys
sys.path.insert(0, "drivers/python")
import numpy as np
from carrysave_driver import Job
from carrysave_modes import MODES

mode = MODES["{a}", "{b}"]  # formats of A and of B
a, b = np.ones((100, 200), mode.a.dtype), np.ones((200, 300), mode.b.dtype)
rows_of_a, rows_of_b = mode.a.pack(a), mode.b.pack(mode.words(b))  # bytes, as they lie in memory
job = Job(
    a=0x1000_0000, b=0x1010_0000, c=0x1020_0000, m=100, n=300, k=200, lda=rows_of_a.shape[1],
    ldb=rows_of_b.shape[1], ldc=300 * {sum_bytes}, a_format=mode.a_format, b_format=mode.b_format,
)
```

`device.run_jobs([job])` runs it{more}."""

_STREAMS = """Python, with PYNQ, and DMAs on the streams (two, one of which also takes C):

```python
import sys
sys.path.insert(0, "drivers/python")
import numpy as np
from carrysave_driver import CoprocessorStream
from pynq import MMIO, Overlay, allocate

system = Overlay("system.bit")
device = CoprocessorStream(
    MMIO(0x3000_0000, 512),
    allocate,
    a=system.dma_a.sendchannel,
    b=system.dma_b.sendchannel,
    c=system.dma_a.recvchannel,
)
a, b = np.ones((100, 200), np.int8), np.ones((200, 300), np.int8)
c = device.matmul(a, b)
```

A stream is one transfer: the DMAs' registers of lengths must be wide enough for it. No such system
was built so far; the tests run the driver on the simulated block.

`device.streams(device.product(...))` are the bytes alone, and `device.take` makes C of them again;
of rows of bytes, such as those of words, `gather` and `scatter` of `carrysave_driver.stream` do so
by `order` of `carrysave_driver.blocking`."""

_C = """\
C, with `drivers/c/carrysave.c` compiled along, `-Idrivers/c -Iregisters`:

```c
#include "carrysave.h"

carrysave device;
carrysave_job job;
carrysave_open(&device, (volatile void *)0x30000000, NULL);
carrysave_job_init(&device, &job, 100, 300, 200, false); /* M, N, K, sums */
job.a = 0x10000000; job.b = 0x10100000; job.c = 0x10200000;
carrysave_plan(&device, &job);
if (carrysave_start(&device, &job) == CARRYSAVE_OK)
    carrysave_wait(&device, 0, NULL, NULL);
```"""

_C_MODES = """\
C, with `drivers/c/carrysave.c` compiled along, `-Idrivers/c -Iregisters`; `carrysave.h` says how
codes of a mode lie in memory:

```c
#include "carrysave_modes.h"

carrysave device;
carrysave_job job;
carrysave_open(&device, (volatile void *)0x30000000, NULL);
carrysave_job_init_mode(&device, &job, &carrysave_modes[CARRYSAVE_{A}_{B}],
                        100, 300, 200, false); /* M, N, K, sums */
job.a = 0x10000000; job.b = 0x10100000; job.c = 0x10200000;
carrysave_plan(&device, &job);
if (carrysave_start(&device, &job) == CARRYSAVE_OK)
    carrysave_wait(&device, 0, NULL, NULL);
```"""

_FOLDER, _WHAT = "drivers/python/carrysave_driver", "Python, with numpy alone"


def drivers(block: Block) -> tuple[Driver, ...]:
    """List those that a pack holds; that in C has neither streams nor scales."""
    spec = block.spec
    found = [Driver(_FOLDER, _WHAT, written.python, _python_start(block))]
    if not spec.STREAM and not spec.inside.block:
        lines = _C
        pairs = list(modes(spec))
        if pairs:
            a, b = pairs[-1]
            lines = _C_MODES.replace("{A}", a.upper()).replace("{B}", b.upper())
        what = "C driver, C99 or C++, of the header in `registers/`"
        found.append(Driver("drivers/c", what, written.c, lines))
    return tuple(found)


def _python_start(block: Block) -> str:
    """Choose the lines for the engine, and for what is outside; formats are the last ones."""
    spec, pairs = block.spec, list(modes(block.spec))
    if not pairs:
        return _STREAMS if spec.STREAM else _PYTHON
    a, b = pairs[-1]
    if not spec.STREAM and not spec.inside.block:
        return _PYTHON_MODES.format(a=a, b=b)
    more = []
    if spec.inside.block:
        more.append("; `a_scales`, `b_scales`, `ldsa` and `ldsb` are of the scales")
    if spec.STREAM:
        more.append(
            ";\n`gather` and `scatter` of `carrysave_driver.stream` make bytes on streams of rows,"
            " and rows of\nC of bytes, by `order` of `carrysave_driver.blocking`"
        )
    return _JOBS.format(
        a=a, b=b, sum_bytes=spec.sum_bytes, more="".join(more),
        feature="scales" if spec.inside.block else "formats",
    )  # fmt: skip


def write(block: Block, pack: Path) -> list[str]:
    """Write all drivers into a pack; returns the names of their files in it."""
    for driver in drivers(block):
        driver.write(pack / driver.folder)
    for name, (text, _) in _tables(block).items():
        paths.write(pack / name, text)
    files = (path for path in (pack / "drivers").rglob("*") if path.is_file())
    return sorted(str(path.relative_to(pack)) for path in files)


def _tables(block: Block) -> dict[str, tuple[str, str]]:
    """Write what drivers need to know of the engine's formats, and say what it is."""
    found = modes(block.spec)
    if not found:
        return {}
    what = "pairs of formats: `{}` by the names of A's and of B's"
    tables = {
        f"drivers/python/{mode_tables.PYTHON_NAME}": (
            mode_tables.python(found), what.format("MODES")
        )
    }  # fmt: skip
    if any(driver.write is written.c for driver in drivers(block)):
        tables[f"drivers/c/{mode_tables.C_NAME}"] = (
            mode_tables.c(found), what.format("carrysave_modes")
        )  # fmt: skip
    return tables


def files(block: Block) -> str:
    """Name them, as rows of the README's table of files."""
    rows = [(f"{driver.folder}/", driver.what) for driver in drivers(block)]
    rows += [(name, what) for name, (_, what) in _tables(block).items()]
    return "".join(f"| `{name}` | {what} |\n" for name, what in rows)


def start(block: Block) -> str:
    """Say what to type first."""
    return "".join(f"{driver.start}\n\n" for driver in drivers(block))
