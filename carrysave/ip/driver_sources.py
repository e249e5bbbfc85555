"""Source files of the co-processor's drivers: Python without the generators, and C."""

import functools
import pprint
from pathlib import Path
from typing import NamedTuple

from systemrdl.node import RegfileNode

from carrysave import cache, driver_package
from golden.formats import bitmap
from golden.lut import expander, trits
from golden.soc import blocking, window
from hw.soc.registers.rdl import EVERY, fields_of, parameters_of, register_map

__all__ = ["C_SOURCES", "Constants", "c", "constants", "python", "registers"]

_FOLDER = Path(__file__).parents[1] / "driver"
_C_FOLDER = _FOLDER / "c"

_UART_SOURCES = ("carrysave_uart.h", "carrysave_uart.c")
_STREAM_SOURCES = ("carrysave_stream.h", "carrysave_stream.c")
C_SOURCES = (
    "carrysave.h",
    "carrysave_internal.h",
    "carrysave.c",
    "carrysave_device.c",
    "carrysave_floats.c",
    "carrysave_job.c",
    "carrysave_matrix.c",
    "carrysave_plan.c",
    "carrysave_program.c",
    "carrysave_program.h",
    "carrysave_run.c",
    "carrysave_single.c",
    "carrysave_text.c",
    "carrysave_vector.c",
    "carrysave_window.c",
)
"""The C driver, which includes the header ``carrysave_coprocessor.h`` of the register map."""


class Constants(NamedTuple):
    """The register map's constants in the Python driver, see :mod:`carrysave.driver.registers`."""

    FIELDS: dict[str, tuple[int, int, int]]
    ERRORS: dict[int, tuple[str, str]]
    RESPONSES: dict[int, str]
    OPERATIONS: dict[str, int]
    ROUNDINGS: dict[int, str]
    MAGIC: int
    ABI: int
    JOB: int
    JOB_BYTES: int


@functools.cache
def constants() -> Constants:
    """Read them from the SystemRDL source; they are the same in every build that has them."""
    top = register_map(dict.fromkeys(parameters_of(), 0) | dict(EVERY))
    fields = {field.name: field for field in fields_of(top)}
    job = top.get_child_by_name("JOB")
    assert isinstance(job, RegfileNode)
    return Constants(
        FIELDS={
            name: (field.register.absolute_address, field.node.low, field.node.width)
            for name, field in fields.items()
        },
        ERRORS={code.value: (code.name, code.meaning) for code in fields["error_code"].codes},
        RESPONSES={code.value: code.name.upper() for code in fields["error_response"].codes},
        OPERATIONS={
            code.identifier: code.value for code in fields["job_mode_vector"].codes if code.value
        },
        ROUNDINGS={code.value: code.identifier for code in fields["features_rounding"].codes},
        MAGIC=fields["magic"].reset,
        ABI=fields["abi"].reset,
        JOB=job.absolute_address,
        JOB_BYTES=job.size,
    )


def python(folder: Path) -> list[Path]:
    """Write the Python driver; it needs numpy and the standard library.

    Parameters
    ----------
    folder : the package, under any name; created if missing.

    Returns
    -------
    The files.
    """
    golden = (Path(str(module.__file__)) for module in (bitmap, blocking, expander, trits, window))
    files = driver_package.sources(_FOLDER, *golden)
    return [cache.write(folder / name, text) for name, text in files.items()]


def c(folder: Path, *, stream: bool = False, uart: bool = False) -> list[Path]:
    """Write the C driver, which needs the header of the register map beside it.

    Parameters
    ----------
    folder : for the files.
    stream, uart : include the files for a co-processor with streams, or behind a serial line.
    """
    names = [*C_SOURCES, *_STREAM_SOURCES * stream, *_UART_SOURCES * uart]
    return [cache.write(folder / name, (_C_FOLDER / name).read_bytes()) for name in names]


def registers() -> str:
    """Return the text of :mod:`carrysave.driver.registers`, from :func:`constants`."""
    values = constants()._asdict()
    lines = [
        '"""Addresses, fields and codes of the register map.',
        "",
        "Made from its SystemRDL source by scripts/upkeep/driver_registers.py. FIELDS has the",
        "address, lowest bit and width of each field; OPERATIONS are those of vector jobs,",
        "ROUNDINGS of requantisers.",
        '"""',
        "",
        f"__all__ = {sorted(values)}",
        "",
        *(
            f"{name} = {pprint.pformat(value, width=96, sort_dicts=False)}"
            for name, value in values.items()
        ),
    ]
    return "\n".join(lines) + "\n"
