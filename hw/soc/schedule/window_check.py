"""What a job of windows has to multiply before its matrices are checked."""

from typing import Any

from amaranth import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.utils import exact_log2

from golden.soc.spec import CoprocessorSpec
from hw.arith.constant_division import divide_by_constant
from hw.soc.registers.window_layout import WindowLayout
from hw.soc.schedule.block_check import WindowCodes, fold
from hw.soc.schedule.vector_check import VectorCheck

__all__ = ["WindowSteps"]

_OF_WINDOWS, _OF_DEPTHWISE = 4, 3
"""Multiplications of all jobs of windows; more of depthwise ones, behind the first one."""


class WindowSteps:
    """Products: bytes of a row of the map; codes of a block; of a kernel row, of a window.

    Each is x * y. To the first one, whose sum begins with -1, the codes of a pixel are added; to
    the last one, the one before. Of a depthwise job there are three behind the first one: groups of
    channels of a row of windows; of a kernel row, and of a kernel, each as often as the map is read
    for it.

    Parameters
    ----------
    m : where.
    spec : the build.
    job : :class:`~hw.soc.registers.coprocessor.JobLayout`.
    codes : where the codes of a block are set.
    first : number of the first multiplication.
    """

    FACTOR = 17
    """Bits of the largest factor."""

    def __init__(self, m: Module, spec: CoprocessorSpec, job: Any, codes: WindowCodes, first: int):
        self.spec = spec
        self.job = job
        self.words: Any = data.View(WindowLayout(), Cat(job.a_scales, job.b_scales))
        self.passes: Value = C(1)
        if spec.depthwise:
            quotient, _ = divide_by_constant(m, self.words.kw, spec.taps, 255, "operator")
            self.passes = quotient + 1
        self.codes = codes
        self.first = first
        """Number of the first multiplication: of a row of the map."""
        more = _OF_DEPTHWISE if spec.depthwise else 0
        self.block = first + 1 + more
        """Number of the first one behind those of depthwise jobs."""
        self.count = _OF_WINDOWS + more
        self.skips: Value = C(0)
        """The job is not depthwise, though others are."""
        self.mismatch = Signal(name="mismatch")
        """K is not the codes of a window."""
        self.large = Signal(name="large_window")
        """The memories of depthwise jobs are too small."""

    @property
    def last(self) -> int:
        """Number of the last multiplication."""
        return self.first + self.count - 1

    def adds(self, step: Value) -> Value:
        """Return whether a product is added to the sum before."""
        return step.matches(self.first, self.last, *self._kernels)

    @property
    def _kernels(self) -> tuple[int, ...]:
        """Numbers of those of a kernel of a depthwise job."""
        return (self.block - 1,) if self.spec.depthwise else ()

    def begin(self, m: Module, x: Signal, y: Signal, length: Signal, total: Signal) -> None:
        """Add the cases that check one multiplication and begin the next."""
        spec, job = self.spec, self.job
        words, codes = self.words, self.codes
        # A kernel row has less than 2^24 codes.
        line, product = total[:24], total[:33]
        most = spec.a_words * spec.a_slices(spec.kinds[0]) * spec.inside.k
        beyond = job.block_k[16:].any() | product[len(codes.codes) :].any()
        beyond |= product[: len(codes.codes)] > most
        stride = fold(job.ldsa, spec.distance_width)
        beats = 0 if spec.vector is None else spec.vector.beats
        after = [self.large.eq(self.large | (total > beats))] if spec.depthwise else []
        factors: list[tuple[Value, Value, list[Any]]] = [
            (words.width, stride, [length.eq(words.channels)]),
            (job.block_k[:16], words.channels, after),
            (words.kw + 1, words.channels, [codes.codes.eq(product), codes.beyond.eq(beyond)]),
            (words.kh, line, [codes.line.eq(line)]),
        ]
        if spec.depthwise:
            factors[1:1] = self._of_depthwise(words, total)
        for number, (one, other, looks) in enumerate(factors, self.first):
            with m.Case(number):
                m.d.sync += [x.eq(one), y.eq(other), *looks]

    def _of_depthwise(self, words: Any, total: Signal) -> list[tuple[Value, Value, list[Any]]]:
        """Return the factors of what memories of depthwise jobs hold; a look is one step late."""
        spec = self.spec
        assert spec.vector is not None
        lanes, beats = spec.vector.lanes, spec.vector.beats
        groups = (words.channels + (lanes - 1))[exact_log2(lanes) :]
        step = sum((Mux(bit, groups << at, 0) for at, bit in enumerate(words.dx)), C(0))
        large = self.large
        return [
            (words.across + 1, groups, []),
            (self.passes, groups, [large.eq(large | (step > beats) | (total > beats))]),
            (words.kh, total, [large.eq(large | (total > beats))]),
        ]

    def start(self, m: Module, of_rows: VectorCheck | None) -> None:
        """Forget the job before."""
        m.d.sync += [self.mismatch.eq(0), self.large.eq(0)]
        if of_rows is not None and self.spec.depthwise:
            self.skips = ~of_rows.windows

    def look_at_pixels(self, m: Module, near: Value, same: Value) -> None:
        """Take whether pixels are apart by their codes, or less."""
        m.d.sync += [self.codes.dense.eq(same), self.mismatch.eq(near & ~same)]

    def look_at_window(self, m: Module, total: Value) -> None:
        """Take the codes of a window: K, which is of 24 bits, or the job is refused before."""
        m.d.sync += self.mismatch.eq(self.mismatch | (total[:33] != self.job.k[:24]))

    def row(self, m: Module, total: Value, geometry: Any) -> None:
        """Take the bytes of a row of the map, less one."""
        if self.spec.depthwise:
            assert self.spec.vector is not None
            m.d.sync += geometry.map_row.eq(total)
            m.d.sync += self.large.eq(self.large | (total >= 2 * self.spec.vector.length))

    @property
    def large_row(self) -> tuple[Value, str]:
        """Whether memories are too small for a depthwise job, and the error's name."""
        mode = self.job.mode
        return self.large & mode.window & (mode.vector != 0), "bad_block"

    @property
    def unlike(self) -> tuple[Value, str]:
        """Whether K is not that of the windows, and the error's name."""
        return self.mismatch & self.job.mode.window, "bad_window"
