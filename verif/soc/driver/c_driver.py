"""The C driver behind the interface of the Python one, so that both pass the same checks."""

import ctypes
import subprocess
from collections.abc import Iterable, Sequence
from ctypes import CFUNCTYPE, byref, c_bool, c_uint32, c_uint64
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
    Mode,
    Number,
    descriptor,
)
from carrysave.driver.number import FP32
from carrysave.driver.registers import ERRORS, OPERATIONS, RESPONSES, ROUNDINGS
from carrysave.ip import driver_sources as driver
from carrysave.ip.registers import write_header
from carrysave.sim.cocotb.device_memory import Pool
from hw.soc.registers.rdl import EVERY, parameters_of, register_map
from verif.soc.driver.c_structs import HOOKS, CCounters, CDeviceState, CJob, CMode, Hooks

__all__ = ["CDevice", "CJob", "CMode", "compile_driver", "load", "sources", "write_driver"]

_CONFIG = Path(__file__).with_name("driver_config.h")
_WAIT = CFUNCTYPE(c_bool, ctypes.c_void_p, ctypes.c_void_p)
FAILED, TIMEOUT, LOST, SILENT = 4, 5, 6, 21
"""Statuses."""


def write_driver(folder: Path, *, vector: bool = True) -> None:
    """Write the driver, and the header of the register map, with a vector unit or without."""
    driver.c(folder)
    top = register_map(dict.fromkeys(parameters_of(), 0) | (dict(EVERY) if vector else {}))
    write_header(top, folder / "carrysave_coprocessor.h")


def sources(folder: Path) -> list[Path]:
    """List the C files of the driver."""
    return [folder / name for name in driver.C_SOURCES if name.endswith(".c")]


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
        "cc",
        "-std=c99",
        "-O1",
        "-Wall",
        "-Wextra",
        "-Wpedantic",
        "-Werror",
        "-shared",
        "-fPIC",
        f'-DCARRYSAVE_CONFIG="{_CONFIG}"',
        "-o",
        str(library),
        *map(str, sources(folder)),
        *map(str, more),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return library


def load(library: Path | str) -> Any:
    """Load the library, with the types of what is not an int."""
    loaded = ctypes.CDLL(str(library))
    for name in ("status", "error", "response"):
        getattr(loaded, f"carrysave_{name}_text").restype = ctypes.c_char_p
    ring: list[Any] = [ctypes.c_void_p, ctypes.c_void_p, c_uint32, ctypes.c_void_p, c_uint64]
    loaded.carrysave_start_ring.argtypes = ring
    loaded.carrysave_run.argtypes = [*ring, c_uint32, _WAIT, ctypes.c_void_p, ctypes.c_void_p]
    return loaded


class CDevice(Coprocessor):
    """A co-processor whose registers and caches the C driver handles.

    Parameters
    ----------
    library : of :func:`load`.
    registers, pool, more : as the Python driver's; the pool is manual.
    modes : of an engine that has several.
    """

    def __init__(
        self, library: Any, registers: Any, pool: Pool, *, modes: Iterable[Mode] = (), **more: Any
    ) -> None:
        self._library = library
        self._modes = {(mode.a_format, mode.b_format): CMode.of(mode) for mode in modes}
        self._pool = pool
        self._errors: list[BaseException] = []
        self._device = CDeviceState()
        functions = registers.read, registers.write, pool.clean, pool.drop
        self._hooks = Hooks(
            *(
                kind(self._guarded(function))
                for kind, function in zip(HOOKS, functions, strict=True)
            )
        )
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

    def check(self, status: int) -> None:
        """Raise what is wrong, if anything is."""
        if status:
            raise CoprocessorError(self._library.carrysave_status_text(status).decode())

    def open(self) -> None:
        """Open by the C driver; both drivers are told the same."""
        self.check(self.call("open", None, byref(self._hooks)))
        if self._interrupt is not None:
            self.call("interrupt", True)
        self.info = expected = Info.read(self._get)
        found = self._device.info
        major, minor, patch = expected.version
        assert found.version == major << 16 | minor << 8 | patch
        for name in ("engine", "hash", "k_max", "address_width", "dimension_width", "scratch"):
            assert getattr(found, name) == getattr(expected, name), name
        for name, value in vars(expected.stores).items():
            assert getattr(found, name, value) == value, name
        b = expected.mode.b_stored if "codebook" in expected.features else expected.b
        wants = {"a": expected.a, "b": b, "sum": expected.sums, "code": expected.codes}
        for name, wanted in wants.items():
            number = getattr(found, name)
            given = number.bits, number.width, number.is_signed
            assert wanted == Number.of(*given) or (wanted, given) == (FP32, (32, 32, True)), name
        flags = {name for name, kind in found._fields_ if kind is c_bool} - {"ready"}
        flags |= {"taps", "lists", "top_k", "random_width"}
        others = {"narrow", "vector", "scratch", "codebook", "group_scales", "amax"}
        assert {name for name in flags if getattr(found, name)} == expected.features - others
        assert not expected.rounding or ROUNDINGS[found.rounding] == expected.rounding
        assert ("", "fp16", "bf16")[found.group_scales] == expected.group_scales
        assert found.scratch_base == (expected.memory_end if expected.scratch else 0)
        self._check_vector()

    def _check_vector(self) -> None:
        """Check that both drivers are told the same of the vector unit."""
        found, expected = self._device.info.vector, self.info.vector
        if expected is None:
            assert not found.operations
            return
        for name in ("length", "width", "out_width", "scale_width", "norm_fraction", "lanes"):
            assert getattr(found, name) == getattr(expected, name), name
        assert found.is_signed == expected.signed
        most = {name: self.call("vector_most", number) for name, number in OPERATIONS.items()}
        assert {name for name, value in most.items() if value} == set(expected.operations)
        assert all(most[name] == expected.most(name) for name in expected.operations)

    def reset(self) -> None:
        """Reset by the C driver."""
        self.check(self.call("reset"))

    def run_jobs(self, jobs: Sequence[Job], *, timeout: float | None = None) -> Counters:
        """Run jobs by the C driver."""
        many = (CJob * len(jobs))(*map(self.c_job, jobs))
        timeout = self._timeout if timeout is None else timeout
        total = CCounters()
        if len(jobs) == 1:
            self.check(self.call("start", many))
            status = self.call("wait", *self.waits(timeout))
            self.call("finish", many, self._device.jobs_done)
            self.call("read_counters", byref(total))
        else:
            beat = self.info.stores.data_width // 8
            ring = self._pool((128 * len(jobs) + beat,))
            skip = -ring.device_address % beat
            place = ctypes.c_void_p(ring.ctypes.data + skip), ring.device_address + skip
            waits = self.waits(timeout)
            status = self.call("run", many, len(jobs), *place, *waits, byref(total))
            ring.freebuffer()
        self.tell(status, len(jobs), timeout)
        return self._counters(total)

    def c_job(self, job: Job) -> CJob:
        """Take over a job, which both drivers describe in the same way."""
        mode = None if job.vector else self._modes.get((job.a_format, job.b_format))
        made = CJob.of(job, mode)
        image = ctypes.create_string_buffer(128)
        self._library.carrysave_describe(byref(made), image)
        assert image.raw == descriptor(job)
        return made

    def waits(self, timeout: float) -> tuple[Any, ...]:
        """Make what says how long to wait, and how."""
        deadline = self._clock() + timeout

        def wait(device: int, argument: int) -> bool:
            left = deadline - self._clock()
            if self._interrupt is not None and left > 0:
                self._interrupt(left)
            return left > 0

        return 0, _WAIT(self._guarded(wait)), None

    def tell(self, status: int, jobs: int, timeout: float) -> None:
        """Raise what a run has come to, if it is not done."""
        self.lost = status == LOST or (status == SILENT and self._get("ctrl_reset") == 1)
        error = self._device.error
        if status in {FAILED, SILENT}:
            name = self._library.carrysave_error_text(error.code).decode()
            assert name == ERRORS.get(error.code, ("unknown error", ""))[0]
            response = self._library.carrysave_response_text(error.response).decode()
            assert response.upper() == RESPONSES[error.response]
            raise JobError(error.code, error.response, error.address, error.job)
        if status == TIMEOUT:
            raise JobTimeout(self._device.jobs_done, jobs, timeout)
        self.check(status)

    def counters(self) -> Counters:
        """Read counters by the C driver."""
        found = CCounters()
        self.call("read_counters", byref(found))
        return self._counters(found)

    def _counters(self, found: CCounters) -> Counters:
        names = [field[0] for field in found._fields_]
        return Counters(**{name: getattr(found, name) for name in names}, peak=self.info.peak)
