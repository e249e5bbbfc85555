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
"""Multiplications of all jobs of windows; more of them of depthwise ones."""


class WindowSteps:
    """Products: taps of a window; codes of a window, of a block; bytes of a row of the map.

    Each is x * y + length. Of a depthwise job there are three before: groups of channels of a row
    of windows; of a kernel row, and of a kernel, each as often as the map is read for it.

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
        self.of_depthwise = first
        """Number of the first multiplication of a depthwise job, where there are any."""
        self.first = first + (_OF_DEPTHWISE if spec.depthwise else 0)
        """Number of the first one of other jobs."""
        self.count = self.first - first + _OF_WINDOWS
        self.mismatch = Signal(name="mismatch")
        """K is not the codes of a window."""
        self.large = Signal(name="large_window")
        """The memories of depthwise jobs are too small."""

    @property
    def last(self) -> int:
        """Number of the last multiplication."""
        return self.of_depthwise + self.count - 1

    def begin(self, m: Module, x: Signal, y: Signal, length: Signal, total: Signal) -> None:
        """Add the cases that check one multiplication and begin the next."""
        spec, job = self.spec, self.job
        words, codes = self.words, self.codes
        # A window has 2^16 taps at the most, and so has a block.
        taps, product = total[:17], total[:33]
        most = spec.a_words * spec.a_slices(spec.kinds[0]) * spec.inside.k
        beyond = job.block_k[16:].any() | product[len(codes.codes) :].any()
        beyond |= product[: len(codes.codes)] > most
        stride = fold(job.ldsa, spec.distance_width)
        beats = 0 if spec.vector is None else spec.vector.beats
        after = [self.large.eq(self.large | (total > beats))] if spec.depthwise else []
        factors: list[tuple[Value, Value, Value, list[Any]]] = [
            (words.kw + 1, words.kh + 1, C(0), after),
            (taps, words.channels, C(0), []),
            (job.block_k[:16], words.channels, C(0), [self.mismatch.eq(product != job.k)]),
            # The place of the last byte of a row of the map.
            (
                words.width,
                stride,
                words.channels - 1,
                [codes.codes.eq(product), codes.beyond.eq(beyond)],
            ),
        ]
        if spec.depthwise:
            factors = [*self._of_depthwise(words, total), *factors]
        for number, (one, other, more, looks) in enumerate(factors, self.of_depthwise):
            with m.Case(number):
                m.d.sync += [x.eq(one), y.eq(other), length.eq(more), *looks]

    def _of_depthwise(
        self, words: Any, total: Signal
    ) -> list[tuple[Value, Value, Value, list[Any]]]:
        """Return the factors of what memories of depthwise jobs hold; a look is one step late."""
        spec = self.spec
        assert spec.vector is not None
        lanes, beats = spec.vector.lanes, spec.vector.beats
        groups = (words.channels + (lanes - 1))[exact_log2(lanes) :]
        step = sum((Mux(bit, groups << at, 0) for at, bit in enumerate(words.dx)), C(0))
        large = self.large
        return [
            (words.across, groups, groups, [large.eq(step > beats)]),
            (self.passes, groups, C(0), [large.eq(large | (total > beats))]),
            (words.kh, total, total, [large.eq(large | (total > beats))]),
        ]

    def start(self, m: Module, of_rows: VectorCheck | None) -> Value:
        """Forget the job before; return the number of the first multiplication."""
        m.d.sync += [self.mismatch.eq(0), self.large.eq(0)]
        if of_rows is None or not self.spec.depthwise:
            return C(self.first)
        return Mux(of_rows.windows, self.of_depthwise, self.first)

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
