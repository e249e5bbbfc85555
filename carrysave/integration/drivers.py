"""Drivers in a pack: which there are, how they are written, what to type first."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from carrysave.integration import driver_sources

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
With the Python driver, which needs numpy alone; `drivers/python` on the path, on a PYNQ board:

```python
from carrysave_driver import Coprocessor, Requantisation
device = Coprocessor(pynq.MMIO(base, 4096), pynq.allocate)
sums = device.matmul(a, b)                             # numpy in, numpy out
how = Requantisation(multiplier=1 << 30, shift=40, relu=True)
data = device.place(a, device.info.a)                  # stays on the device
first = device.product(data, device.place(w1, device.info.b), requantisation=how)
last = device.product(first.c, device.place(w2, device.info.b))
counters = device.run([first, last])                   # both on one start
print(last.c.read(), counters.cycles, counters.utilisation)
```"""

_C = """\
With the C driver, which needs the header of the registers beside it:

```c
carrysave device;
carrysave_job job;
carrysave_status s = carrysave_open(&device, (volatile void *)0xA0000000u, NULL);
if (s) return s;
carrysave_job_init(&device, &job, 64, 64, 64, false);  /* M, N, K; C is of sums */
job.a = a_bus; job.b = b_bus; job.c = c_bus;
carrysave_plan(&device, &job);
s = carrysave_start(&device, &job);
if (!s) s = carrysave_wait(&device, 1000000, NULL, NULL);
if (!s) carrysave_finish(&device, &job, 1);
```"""

DRIVERS = (
    Driver(
        "drivers/python",
        "driver in Python: numpy in, numpy out",
        lambda folder: driver_sources.python(folder / "carrysave_driver"),
        _PYTHON,
    ),
    Driver("drivers/c", "driver in C99, without dependencies", driver_sources.c, _C),
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
