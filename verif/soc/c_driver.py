"""The C driver behind the interface of the Python one, so that both pass the same checks."""

import ctypes
import subprocess
from collections.abc import Sequence
from ctypes import CFUNCTYPE, Structure, byref, c_bool, c_int32, c_uint32, c_uint64
from pathlib import Path
from typing import Any

from carrysave.driver import (
    Coprocessor,
    CoprocessorError,
    Counters,
    Info,
    Job,
    JobError,
    JobTimeout,
    descriptor,
)
from carrysave.driver.registers import ERRORS, RESPONSES
from carrysave.integration import driver_sources as driver
from carrysave.integration.registers import write_header
from hw.soc.register_map import parameters_of, register_map
from verif.soc.device_memory import Pool

__all__ = ["CDevice", "CJob", "CMode", "compile_driver", "load", "write_driver"]

_CONFIG = Path(__file__).with_name("driver_config.h")
_HOOKS = [
    CFUNCTYPE(c_uint32, c_uint32), CFUNCTYPE(None, c_uint32, c_uint32),
    CFUNCTYPE(None, c_uint64, c_uint64), CFUNCTYPE(None, c_uint64, c_uint64),
]  # fmt: skip
_WAIT = CFUNCTYPE(c_bool, ctypes.c_void_p, ctypes.c_void_p)
FAILED, TIMEOUT = 4, 5


class _Hooks(Structure):
    _fields_ = list(zip(("read", "write", "clean", "invalidate"), _HOOKS, strict=True))


class _Number(Structure):
    _fields_ = [("bits", c_uint32), ("width", c_uint32), ("is_signed", c_bool)]


class _Info(Structure):
    _fields_ = [
        ("version", c_uint32), ("engine", c_uint32), ("hash", c_uint64),
        *((name, c_uint32) for name in (
            "tile_m", "tile_n", "tile_k", "k_max", "address_width", "data_width", "outstanding",
            "dimension_width", "sums", "a_bytes", "b_bytes",
        )),
        *((name, _Number) for name in ("a", "b", "sum", "code")),
        *((name, c_bool) for name in (
            "requantiser", "per_column", "bias", "accumulate", "ring", "scales", "formats",
            "fixed_blocks", "uncounted",
        )),
    ]  # fmt: skip


class _Error(Structure):
    _fields_ = [
        ("code", c_uint32), ("response", c_uint32), ("job", c_uint32), ("address", c_uint64),
    ]  # fmt: skip


class _Counters(Structure):
    _fields_ = [
        (name, c_uint64) for name in (
            "cycles", "compute", "stall_load", "stall_store", "read_beats", "write_beats", "macs",
        )
    ]  # fmt: skip


class _Device(Structure):
    _fields_ = [
        ("base", ctypes.c_void_p), ("context", ctypes.c_void_p), ("info", _Info),
        ("error", _Error), ("jobs_done", c_uint32),
    ]  # fmt: skip


class CMode(Structure):
    """A pair of formats as the C driver has it."""

    _fields_ = [
        ("a", ctypes.c_char_p), ("b", ctypes.c_char_p),
        *((name, c_uint32) for name in (
            "a_format", "b_format", "a_bits", "b_bits", "codes", "k_max",
        )),
        ("exponent", c_int32),
    ]  # fmt: skip


class CJob(Structure):
    """A job as the C driver has it."""

    _fields_ = [
        *((name, c_uint64) for name in "abc"),
        *((name, c_uint32) for name in ("m", "n", "k", "lda", "ldb", "ldc")),
        ("bias", c_uint64), ("records", c_uint64),
        *((name, c_bool) for name in (
            "add_bias", "requantise", "per_column", "accumulate", "relu", "by_columns",
        )),
        ("mode", CMode),
        *((name, c_uint32) for name in ("multiplier", "shift")),
        *((name, c_int32) for name in ("zero_point", "low", "high")),
        *((name, c_uint32) for name in ("block_m", "block_n", "block_k")),
    ]  # fmt: skip

    @classmethod
    def of(cls, job: Job) -> "CJob":
        """Take over a job of the Python driver."""
        names = ("a", "b", "c", "m", "n", "k", "lda", "ldb", "ldc", "accumulate", "by_columns",
                 "block_m", "block_n", "block_k")  # fmt: skip
        made = cls(**{name: getattr(job, name) for name in names})
        made.mode.a_format, made.mode.b_format = job.a_format, job.b_format
        if job.bias is not None:
            made.add_bias, made.bias = True, job.bias
        how = job.requantisation
        if how is not None:
            made.requantise, made.relu, made.low, made.high = True, how.relu, how.low, how.high
            if job.records is not None:
                made.per_column, made.records = True, job.records
            else:
                made.multiplier, made.shift = int(how.multiplier), int(how.shift)
                made.zero_point = int(how.zero_point)
        return made


def write_driver(folder: Path) -> None:
    """Write the driver, and the header of the register map."""
    driver.c(folder)
    top = register_map(dict.fromkeys(parameters_of(), 0))
    write_header(top, folder / "carrysave_coprocessor.h")


def compile_driver(folder: Path, *more: Path) -> Path:
    """Make a shared library of the driver, whose registers are functions of the test.

    Parameters
    ----------
    folder : of the driver and of the library.
    more : C sources that are compiled along.
    """
    write_driver(folder)
    library = folder / "carrysave.so"
    command = [
        "cc", "-std=c99", "-O1", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-shared", "-fPIC",
        f'-DCARRYSAVE_CONFIG="{_CONFIG}"', "-o", str(library), str(folder / "carrysave.c"),
        *map(str, more),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return library


def load(library: Path | str) -> Any:
    """Load the library, with the types of what is not an int."""
    loaded = ctypes.CDLL(str(library))
    for name in ("status", "error", "response"):
        getattr(loaded, f"carrysave_{name}_text").restype = ctypes.c_char_p
    loaded.carrysave_start_ring.argtypes = [
        ctypes.c_void_p, ctypes.c_void_p, c_uint32, ctypes.c_void_p, c_uint64,
    ]  # fmt: skip
    return loaded


class CDevice(Coprocessor):
    """A co-processor whose registers and caches the C driver handles.

    Parameters
    ----------
    library : of :func:`load`.
    registers, pool, more : as the Python driver's; the pool is manual.
    """

    def __init__(self, library: Any, registers: Any, pool: Pool, **more: Any) -> None:
        self._library = library
        self._pool = pool
        self._errors: list[BaseException] = []
        self._device = _Device()
        functions = registers.read, registers.write, pool.clean, pool.drop
        self._hooks = _Hooks(*(
            kind(self._guarded(function)) for kind, function in zip(_HOOKS, functions, strict=True)
        ))  # fmt: skip
        super().__init__(registers, pool, **more)

    def _guarded(self, function: Any) -> Any:
        """Keep an exception, which C does not pass on."""

        def call(*arguments: int) -> Any:
            try:
                return function(*arguments)
            except BaseException as error:
                self._errors.append(error)
                return 0

        return call

    def call(self, name: str, *arguments: Any) -> int:
        """Call a function of the driver; an exception of the test's own functions is raised."""
        status = getattr(self._library, f"carrysave_{name}")(byref(self._device), *arguments)
        if self._errors:
            raise self._errors.pop()
        return status

    def _raise(self, status: int) -> None:
        if status:
            raise CoprocessorError(self._library.carrysave_status_text(status).decode())

    def open(self) -> None:
        """Open by the C driver; both drivers are told the same."""
        self._raise(self.call("open", None, byref(self._hooks)))
        if self._interrupt is not None:
            self.call("interrupt", True)
        self.info = expected = Info.read(self._get)
        found = self._device.info
        major, minor, patch = expected.version
        assert found.version == major << 16 | minor << 8 | patch
        for name in ("engine", "hash", "k_max", "address_width", "dimension_width"):
            assert getattr(found, name) == getattr(expected, name), name
        for name, value in vars(expected.stores).items():
            if hasattr(found, name):
                assert getattr(found, name) == value, name
        for name, other in (("a", "a"), ("b", "b"), ("sum", "sums"), ("code", "codes")):
            number = getattr(found, name)
            wanted = getattr(expected, other)
            assert wanted == type(wanted).of(number.bits, number.width, number.is_signed), name
        flags = ("requantiser", "per_column", "bias", "accumulate", "ring", "scales", "formats",
                  "fixed_blocks", "uncounted")  # fmt: skip
        assert {name for name in flags if getattr(found, name)} == expected.features - {"narrow"}

    def reset(self) -> None:
        """Reset by the C driver."""
        self._raise(self.call("reset"))

    def run_jobs(self, jobs: Sequence[Job], *, timeout: float | None = None) -> Counters:
        """Run jobs by the C driver."""
        many = (CJob * len(jobs))(*map(CJob.of, jobs))
        for job, made in zip(jobs, many, strict=True):
            image = ctypes.create_string_buffer(128)
            self._library.carrysave_describe(byref(made), image)
            assert image.raw == descriptor(job)
        if len(jobs) == 1:
            self._raise(self.call("start", many))
        else:
            beat = self.info.stores.data_width // 8
            ring = self._pool((128 * len(jobs) + beat,))
            skip = -ring.device_address % beat
            place = ctypes.c_void_p(ring.ctypes.data + skip)
            started = self.call("start_ring", many, len(jobs), place, ring.device_address + skip)
            self._raise(started)
        timeout = self._timeout if timeout is None else timeout
        deadline = self._clock() + timeout

        def wait(device: int, argument: int) -> bool:
            left = deadline - self._clock()
            if self._interrupt is not None and left > 0:
                self._interrupt(left)
            return left > 0

        status = self.call("wait", 0, _WAIT(self._guarded(wait)), None)
        if len(jobs) > 1:
            ring.freebuffer()
        self.lost = status not in (0, FAILED, TIMEOUT)
        error = self._device.error
        if status == FAILED:
            self.call("finish", many, self._device.jobs_done)
            name = self._library.carrysave_error_text(error.code).decode()
            assert name == ERRORS.get(error.code, ("unknown error", ""))[0]
            response = self._library.carrysave_response_text(error.response).decode()
            assert response.upper() == RESPONSES[error.response]
            raise JobError(error.code, error.response, error.address, error.job)
        if status == TIMEOUT:
            done = self._device.jobs_done
            raise JobTimeout(f"{done} of {len(jobs)} jobs ended within {timeout:g} s")
        self._raise(status)
        self.call("finish", many, len(jobs))
        return self.counters()

    def counters(self) -> Counters:
        """Read counters by the C driver."""
        found = _Counters()
        self.call("read_counters", byref(found))
        names = [field[0] for field in found._fields_]
        return Counters(**{name: getattr(found, name) for name in names}, peak=self.info.peak)
