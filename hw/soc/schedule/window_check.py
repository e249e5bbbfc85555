"""What a job of windows has to multiply before its matrices are checked."""

from typing import Any

from amaranth import C, Cat, Module, Signal, Value
from amaranth.lib import data

from golden.soc.spec import CoprocessorSpec
from hw.soc.registers.window_layout import WindowLayout
from hw.soc.schedule.block_check import WindowCodes, fold

__all__ = ["WindowSteps"]


class WindowSteps:
    """Four products: codes of a kernel row, of a window, of a block; bytes of a row of the map.

    Each is x * y + length, added to the total that it begins with.

    Parameters
    ----------
    spec : the build.
    job : :class:`~hw.soc.registers.coprocessor.JobLayout`.
    codes : where the codes of a block are set.
    first : number of the first multiplication.
    """

    COUNT = 4
    FACTOR = 16
    """Bits of the largest factor."""

    def __init__(self, spec: CoprocessorSpec, job: Any, codes: WindowCodes, first: int):
        self.spec = spec
        self.job = job
        self.codes = codes
        self.first = first
        self.mismatch = Signal(name="mismatch")
        """K is not the codes of a window."""

    @property
    def last(self) -> int:
        """Number of the last multiplication."""
        return self.first + self.COUNT - 1

    def begin(self, m: Module, x: Signal, y: Signal, length: Signal, total: Signal) -> None:
        """Add the cases of what begins each multiplication, and looks at the one before."""
        spec, job = self.spec, self.job
        words: Any = data.View(WindowLayout(), Cat(job.a_scales, job.b_scales))
        distance, codes = len(length), self.codes
        beyond = job.block_k[self.FACTOR :].any() | total[len(codes.codes) :].any()
        most = spec.a_words * spec.a_slices(spec.kinds[0]) * spec.inside.k
        factors: list[tuple[Value, Value, Value, list[Any]]] = [
            (words.kw, words.channels, words.channels, [total.eq(0), self.mismatch.eq(0)]),
            (words.kh, total, total, [total.eq(0), self.mismatch.eq(total[distance:].any())]),
            (
                job.block_k[: self.FACTOR],
                words.channels,
                C(0),
                [total.eq(0), self.mismatch.eq(self.mismatch | (total != job.k))],
            ),
            (
                words.width,
                fold(job.ldsa, spec.distance_width),
                words.channels,
                # Less one: the place of the last byte.
                [
                    total.eq(~C(0, len(total))),
                    codes.codes.eq(total),
                    codes.beyond.eq(beyond | (total[: len(codes.codes)] > most)),
                ],
            ),
        ]
        for number, (one, other, more, looks) in enumerate(factors, self.first):
            with m.Case(number):
                m.d.sync += [x.eq(one), y.eq(other), length.eq(more), *looks]
