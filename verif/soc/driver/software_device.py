"""A co-processor in software: registers as the map has them, jobs done by the golden model."""

from dataclasses import replace
from typing import Any

import numpy as np

from golden.npe.requantiser import Requantisation
from golden.soc.coprocessor import CoprocessorSpec, Error, Job, coprocessor
from golden.soc.group_scales import grouped
from golden.soc.maps import MAPS
from golden.soc.product_numbers import amax
from golden.soc.window import Window
from hw.soc.coprocessor import discovery
from hw.soc.registers.rdl import fields_of, layout_of, register_map, vector_numbers
from hw.soc.registers.window_layout import WindowLayout

__all__ = ["SoftwareDevice", "decode"]

_JOB = layout_of("JOB")
_WINDOW = WindowLayout()
_OPERATIONS = {number: name for name, number in vector_numbers().items() if name != "divide"}


def decode(image: bytes) -> tuple[Job, Any]:
    """Read a descriptor; returns the job, and the descriptor's fields."""
    fields: Any = _JOB.from_bits(int.from_bytes(image, "little"))
    mode = fields.mode
    how = None
    if mode.requantise:
        signed = {
            name: (getattr(fields, name) ^ 0x8000) - 0x8000
            for name in ("zero_point", "low", "high")
        }
        how = Requantisation(
            multiplier=np.array([fields.multiplier]),
            shift=np.array([fields.shift]),
            zero_point=np.array([signed["zero_point"]]),
            low=signed["low"],
            high=signed["high"],
            relu=bool(mode.relu),
        )
    same = (
        "a",
        "b",
        "c",
        "m",
        "n",
        "k",
        "lda",
        "ldb",
        "ldc",
        "block_m",
        "block_n",
        "block_k",
        "a_scales",
        "b_scales",
        "ldsa",
        "ldsb",
    )
    job = Job(
        **{name: getattr(fields, name) for name in same},
        bias=fields.bias if mode.bias and not mode.accumulate else None,
        row_factors=fields.bias if mode.bias and mode.accumulate else None,
        records=fields.requant if mode.per_column or (mode.table and mode.vector) else None,
        accumulate=bool(mode.accumulate),
        requantisation=how,
        by_columns=bool(mode.order),
        vector=_name(mode) if mode.vector else None,
        c_bytes=mode.c_bytes,
        packed=bool(mode.packed),
        table=bool(mode.table),
    )
    if mode.listed and not mode.vector:
        job = replace(job, a_scales=0, places=fields.a_scales)
    if job.vector == "index":
        job = replace(job, least=fields.low)
    if mode.window:
        job = replace(job, a_scales=0, b_scales=0, ldsa=0, window=_window(fields))
    if job.vector in MAPS:
        job = replace(job, **_of_maps(fields.ldsa, fields.ldsb))
    return job, fields


def _name(mode: Any) -> str:
    """Return the name of an operation; requantised shares are divided."""
    name = _OPERATIONS[mode.vector | mode.listed << 4]
    return "divide" if name == "exps" and mode.requantise else name


def _window(fields: Any) -> Window:
    """Read the words of windows."""
    words: Any = _WINDOW.from_bits(fields.a_scales | fields.b_scales << 64)
    return Window(
        **{name: getattr(words, name) + 1 for name in ("height", "width", "across")},
        channels=words.channels,
        pixel=fields.ldsa,
        kernel=(words.kh + 1, words.kw + 1),
        strides=(words.sy, words.sx),
        dilations=(words.dy, words.dx),
        first=(-words.top & 255, -words.left & 255),
        fill=words.fill,
    )


def _of_maps(*words: int) -> dict[str, Any]:
    """Read the zero points and factors of maps."""
    low = (1 << 23) - 1
    return {
        "zeros": tuple((word >> 24 ^ 0x80) - 0x80 for word in words),
        "factors": tuple((word & low) - (word & low + 1) for word in words),
    }


class SoftwareDevice:
    """Registers of a co-processor, on a memory.

    Members
    -------
    constants : what discovery registers say; to be changed at will.
    hangs : starts do not end; ``"reset"``: nor does a reset; ``"silent"``: a reset alone.
    fault : error, response and address of the job `fault_at` of a start; None: none.
    done : descriptors' fields of the jobs of the last start.
    starts : descriptors of each start.
    polls : times that a start reads as under way before it has ended.
    """

    def __init__(
        self, spec: CoprocessorSpec, memory: np.ndarray, base: int = 0, **features: bool
    ) -> None:
        self.spec = spec
        self.memory = memory
        self.scratch = np.zeros(spec.scratch, np.uint8)
        self.base = base
        top = register_map(dict(discovery(spec, 7, 0x1234567890ABCDEF)))
        self.fields = {
            field.name: (field.register.absolute_address, field.node.low)
            for field in fields_of(top)
        }
        self.constants = {field.name: field.reset for field in fields_of(top)}
        self.constants |= {f"features_{name}": int(value) for name, value in features.items()}
        self.hangs: bool | str = False
        self.fault: tuple[int, int, int] | None = None
        self.fault_at = 0
        self.polls = 0
        self.done: list[Any] = []
        self.starts: list[int] = []
        self._stored: dict[int, int] = {}
        self._left = -1
        self.writes = 0

    def read(self, offset: int) -> int:
        """Read a register; of CTRL, done is cleared."""
        at = {name: low for name, (address, low) in self.fields.items() if address == offset}
        assert at, f"{offset:#x} is no register"
        if "ctrl_start" not in at:
            constants = (self.constants[name] << low for name, low in at.items())
            return self._stored.get(offset, sum(constants))
        if self.hangs in {"reset", "silent"} and self._stored.get(offset):
            return self._stored[offset]
        self._stored.pop(offset, None)
        if self._left < 0:
            return 1 << 2
        if self.hangs in {True, "reset"}:
            return 0
        self._left -= 1
        return 0 if self._left >= 0 else 1 << 1 | 1 << 2

    def write(self, offset: int, value: int) -> None:
        """Write a register."""
        assert 0 <= value < 1 << 32
        self.writes += 1
        if offset == 0x0C:
            self._stored[offset] = self._stored.get(offset, 0) ^ value
        elif offset != 0:
            self._stored[offset] = value
        elif value >> 31:
            self._stored = {0: 1 << 31}
            self._left = -1
        elif value & 1:
            self._left = self.polls
            self.start()

    @property
    def interrupt(self) -> bool:
        """Level of the interrupt."""
        return bool(self.read(0x04) & 1 and self.read(0x08) & self.read(0x0C))

    def _word(self, name: str) -> int:
        return self.read(self.fields[name][0])

    def start(self) -> None:
        """Do what was started."""
        count = self._word("ring_count")
        ring = (self._word("ring_lo") | self._word("ring_hi") << 32) - self.base
        registers = b"".join(self.read(0x10 + 4 * i).to_bytes(4, "little") for i in range(32))
        images = [self.memory[ring + 128 * i :][:128].tobytes() for i in range(count)]
        self.done = []
        self.starts.append(count)
        macs = 0
        for number, image in enumerate(images or [registers]):
            job, fields = decode(image)
            if self.constants["features_formats"] or job.vector is not None:
                job = replace(job, a_format=fields.mode.a_format, b_format=fields.mode.b_format)
            self.done.append(fields)
            fault = self.fault if number == self.fault_at else None
            error, response, address = fault or (self._do(job), 0, 0)
            if error:
                self._stored[0xA0] = error | response << 8
                self._stored[0xA4] = number
                self._stored[0xA8], self._stored[0xAC] = address & 0xFFFFFFFF, address >> 32
                break
            macs += 0 if job.vector is not None else job.m * job.n * job.k
            self._stored[0x9C] = number + 1
        counters = {"cycles": 3 * macs + (5 << 32), "macs": macs, "read_beats": 77}
        for name, value in counters.items() if self.spec.counters else ():
            for part, half in (("lo", value & 0xFFFFFFFF), ("hi", value >> 32)):
                self._stored[self.fields[f"counters_{name}_{part}"][0]] = half
        self._stored[0x0C] = self._stored.get(0x0C, 0) | 1

    def _do(self, job: Job) -> Error:
        """Do a job, on a memory that begins at the base, and on chip."""
        base = self.spec.scratch_base
        places = ["a", "b", "c"] + ["a_scales", "b_scales"] * bool(self.spec.inside.block)
        places += ["b_scales"] * bool(self.spec.inside.expander.table_bytes)
        places += ["a_scales", "b_scales"] * grouped(self.spec, job)
        more = "bias", "row_factors", "records", "places"
        places += [name for name in more if getattr(job, name) is not None]
        found = {name: getattr(job, name) for name in places}
        moved = {name: one if one >= base else one - self.base for name, one in found.items()}
        job = replace(job, **moved)
        if self.spec.amax and job.vector is None:
            most = amax(self.spec, self.memory, job)
            for part, half in (("lo", most & 0xFFFFFFFF), ("hi", most >> 32)):
                self._stored[self.fields[f"amax_{part}"][0]] = half
        return coprocessor(self.spec, self.memory, job, self.scratch)
