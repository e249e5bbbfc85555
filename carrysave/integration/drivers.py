"""Drivers in a pack: which there are, how they are written, what to type first."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from carrysave.integration import driver_sources as written
from carrysave.integration.block import Block

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

_STREAMS = """\
Python, with PYNQ, and DMAs on the streams (two, one of which also takes C):

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

_FOLDER, _WHAT = "drivers/python/carrysave_driver", "Python, with numpy alone"


def drivers(block: Block) -> tuple[Driver, ...]:
    """List those that a pack holds; that in C has no streams."""
    if block.spec.STREAM:
        return (Driver(_FOLDER, _WHAT, written.python, _STREAMS),)
    return (
        Driver(_FOLDER, _WHAT, written.python, _PYTHON),
        Driver("drivers/c", "C driver, C99 or C++, of the header in `registers/`", written.c, _C),
    )


def write(block: Block, pack: Path) -> list[str]:
    """Write all drivers into a pack; returns the names of their files in it."""
    names = []
    for driver in drivers(block):
        folder = pack / driver.folder
        driver.write(folder)
        names += [str(path.relative_to(pack)) for path in folder.rglob("*") if path.is_file()]
    return sorted(names)


def files(block: Block) -> str:
    """Name them, as rows of the README's table of files."""
    return "".join(f"| `{driver.folder}/` | {driver.what} |\n" for driver in drivers(block))


def start(block: Block) -> str:
    """Say what to type first."""
    return "".join(f"{driver.start}\n\n" for driver in drivers(block))
