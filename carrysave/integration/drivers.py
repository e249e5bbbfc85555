"""Drivers in a pack: which there are, how they are written, what to type first."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from carrysave.integration import driver_sources as written

__all__ = ["DRIVERS", "Driver", "files", "start", "write"]


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

DRIVERS: tuple[Driver, ...] = (
    Driver("drivers/python/carrysave_driver", "Python, with numpy alone", written.python, _PYTHON),
    Driver("drivers/c", "C driver, C99 or C++, of the header in `registers/`", written.c, _C),
)
"""Those that a pack holds."""


def write(pack: Path) -> list[str]:
    """Write all drivers into a pack; returns the names of their files in it."""
    names = []
    for driver in DRIVERS:
        folder = pack / driver.folder
        driver.write(folder)
        names += [str(path.relative_to(pack)) for path in folder.rglob("*") if path.is_file()]
    return sorted(names)


def files() -> str:
    """Name them, as rows of the README's table of files."""
    return "".join(f"| `{driver.folder}/` | {driver.what} |\n" for driver in DRIVERS)


def start() -> str:
    """Say what to type first."""
    return "".join(f"{driver.start}\n\n" for driver in DRIVERS)
