"""Structures of the C driver, as ctypes has them."""

import ctypes
from ctypes import CFUNCTYPE, Structure, c_bool, c_int32, c_uint32, c_uint64

from carrysave.driver import Job, Mode, Window
from carrysave.driver.operations import HIGH, MAPS, OTHERS
from carrysave.driver.registers import OPERATIONS

__all__ = ["CCounters", "CDeviceState", "CJob", "CMode", "CWindow", "HOOKS", "Hooks"]

HOOKS = [
    CFUNCTYPE(c_uint32, c_uint32),
    CFUNCTYPE(None, c_uint32, c_uint32),
    CFUNCTYPE(None, c_uint64, c_uint64),
    CFUNCTYPE(None, c_uint64, c_uint64),
]


class Hooks(Structure):
    _fields_ = list(zip(("read", "write", "clean", "invalidate"), HOOKS, strict=True))


class CNumber(Structure):
    _fields_ = [("bits", c_uint32), ("width", c_uint32), ("is_signed", c_bool)]


class CVector(Structure):
    _fields_ = [
        *(
            (name, c_uint32)
            for name in (
                "operations",
                "length",
                "width",
                "out_width",
                "scale_width",
                "norm_fraction",
                "lanes",
            )
        ),
        ("is_signed", c_bool),
    ]


class CInfo(Structure):
    _fields_ = [
        ("version", c_uint32), ("engine", c_uint32), ("hash", c_uint64),
        *((name, c_uint32) for name in (
            "tile_m", "tile_n", "tile_k", "k_max", "address_width", "data_width", "outstanding",
            "dimension_width", "sums", "a_bytes", "b_bytes",
        )),
        *((name, CNumber) for name in ("a", "b", "sum", "code")),
        *((name, c_bool) for name in (
            "requantiser", "per_column", "bias", "accumulate", "ring", "scales",
            "stream", "formats", "fixed_blocks", "uncounted", "sizes", "windows", "ready",
        )),
        ("taps", c_uint32), ("table", c_bool), ("trits", c_bool), ("row_factors", c_bool),
        ("sparse", c_bool), ("shares", c_bool), ("mirrored", c_bool), ("group_scales", c_uint32),
        ("lists", c_uint32), ("random_width", c_uint32), ("top_k", c_uint32),
        ("codebook", c_uint32), ("b_deep", c_uint32),
        ("fast_array", c_bool), ("rounding", c_uint32),
        ("vector", CVector),
        ("scratch", c_uint32), ("floats", c_uint32), ("scratch_base", c_uint64),
    ]  # fmt: skip


class CError(Structure):
    _fields_ = [
        ("code", c_uint32),
        ("response", c_uint32),
        ("job", c_uint32),
        ("address", c_uint64),
    ]


class CCounters(Structure):
    _fields_ = [
        (name, c_uint64)
        for name in (
            "cycles",
            "compute",
            "stall_load",
            "stall_store",
            "read_beats",
            "write_beats",
            "macs",
        )
    ]


class CDeviceState(Structure):
    _fields_ = [
        ("base", ctypes.c_void_p),
        ("context", ctypes.c_void_p),
        ("info", CInfo),
        ("error", CError),
        ("jobs_done", c_uint32),
        ("jobs_started", c_uint32),
    ]


class CMode(Structure):
    """A pair of formats as the C driver has it."""

    _fields_ = [
        ("a", ctypes.c_char_p),
        ("b", ctypes.c_char_p),
        *(
            (name, c_uint32)
            for name in (
                "a_format",
                "b_format",
                "a_bits",
                "b_bits",
                "codes",
                "k_max",
            )
        ),
        ("exponent", c_int32),
        ("block", c_uint32),
        ("zeros", c_uint32),
    ]

    @classmethod
    def of(cls, mode: Mode) -> "CMode":
        """Take over a mode of the Python driver."""
        names = "a_format", "b_format", "codes", "k_max", "exponent", "block", "zeros"
        return cls(
            a_bits=mode.a.bits, b_bits=mode.b.bits, **{name: getattr(mode, name) for name in names}
        )


class CWindow(Structure):
    """Windows of a map as the C driver has them."""

    _fields_ = [
        *((name, c_uint32) for name in ("height", "width", "across", "channels", "pixel")),
        *((name, c_uint32 * 2) for name in ("kernel", "strides", "dilations", "first")),
        ("fill", c_uint32),
    ]

    @classmethod
    def of(cls, window: Window) -> "CWindow":
        """Take over windows of the Python driver."""
        return cls(**{
            name: (c_uint32 * 2)(*value) if isinstance(value, tuple) else value
            for name, value in vars(window).items()
        })


class CJob(Structure):
    """A job as the C driver has it."""

    _fields_ = [
        *((name, c_uint64) for name in "abc"),
        *((name, c_uint32) for name in ("m", "n", "k", "lda", "ldb", "ldc")),
        *((name, c_uint64) for name in ("a_scales", "b_scales")),
        *((name, c_uint32) for name in ("ldsa", "ldsb")),
        ("bias", c_uint64),
        ("records", c_uint64),
        *(
            (name, c_bool)
            for name in (
                "add_bias",
                "requantise",
                "per_column",
                "accumulate",
                "relu",
                "by_columns",
                "table",
                "packed",
                "listed",
            )
        ),
        ("mode", CMode),
        *((name, c_uint32) for name in ("multiplier", "shift")),
        *((name, c_int32) for name in ("zero_point", "low", "high")),
        *((name, c_uint32) for name in ("block_m", "block_n", "block_k", "vector", "c_bytes")),
        *((name, c_int32 * 2) for name in ("factors", "zeros")),
        ("of_windows", c_bool),
        ("window", CWindow),
    ]

    @classmethod
    def of(cls, job: Job, mode: CMode | None = None) -> "CJob":
        """Take over a job of the Python driver, in a mode if the engine has several."""
        names = (
            "a", "b", "c", "m", "n", "k", "lda", "ldb", "ldc", "accumulate", "by_columns",
            "block_m", "block_n", "block_k", "a_scales", "b_scales", "ldsa", "ldsb", "c_bytes",
            "table", "packed",
        )  # fmt: skip
        made = cls(**{name: getattr(job, name) for name in names})
        if job.window is not None:
            made.of_windows, made.window = True, CWindow.of(job.window)
        made.vector = OPERATIONS[OTHERS.get(job.vector, job.vector)] if job.vector else 0
        made.vector += 16 * (job.vector in HIGH)
        if job.places is not None:
            made.listed, made.a_scales = True, job.places
        made.factors[:], made.zeros[:] = job.factors, job.zeros
        made.mode = mode or CMode(a_format=job.a_format, b_format=job.b_format)
        if job.bias is not None:
            made.add_bias, made.bias = True, job.bias
        if job.row_factors is not None:
            made.add_bias, made.bias = True, job.row_factors
        how, made.low = job.requantisation, job.least
        if how is not None:
            made.requantise, made.relu, made.low, made.high = True, how.relu, how.low, how.high
            if job.records is not None:
                made.per_column, made.records = job.vector not in MAPS, job.records
            if not made.per_column:
                made.multiplier, made.shift = int(how.multiplier), int(how.shift)
                made.zero_point = int(how.zero_point)
        return made
