"""The greatest magnitude of a product's sums, as they leave the sum store."""

from typing import Any

from amaranth import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from golden.soc.spec import CoprocessorSpec
from hw.soc.path.result_words import numbers_of

__all__ = ["GREATEST_WIDTH", "GreatestSum", "events", "report_sums", "watch_sums"]

GREATEST_WIDTH = 64


class GreatestSum(wiring.Component):
    """Keeps the greatest magnitude of sums, some in a cycle.

    Computes :func:`golden.soc.greatest.greatest`, exactly. Latency: a cycle for a sum's magnitude,
    one for each doubling of the sums at a time, and two more.

    Each job resets the data path, and its sum is read after that: its registers are not reset.

    A number in two's complement is compared by twice its magnitude, less one where it is negative:
    bits that are all turned, with the sign below them. One addition, of the greatest one, is left.

    Parameters
    ----------
    spec : CoprocessorSpec
        What: sums, with their flags; of fp32, if blocks of A have scales.
    across : int
        How: sums in a cycle.

    Members
    -------
    en : In(1)
        Sums come.
    i, i_inside : In, In
        Sums, as in the sum store; a bit for each: it is one of C.
    i_first : In(1)
        They are the first ones of a job.
    o : Out(64)
        The greatest magnitude of the job.
    """

    en: Signal
    i: Signal
    i_inside: Signal
    i_first: Signal
    o: Signal

    def __init__(self, spec: CoprocessorSpec, across: int):
        self.spec = spec
        self.across = across
        super().__init__({
            "en": In(1),
            "i": In(across * spec.number_width),
            "i_inside": In(across),
            "i_first": In(1),
            "o": Out(GREATEST_WIDTH),
        })

    def elaborate(self, platform):
        m = Module()
        numbers = [
            self.i.word_select(number, self.spec.number_width) for number in range(self.across)
        ]
        keys: list[Value] = [
            Mux(inside, self._key(value), 0)
            for value, inside in zip(numbers, self.i_inside, strict=True)
        ]
        valid: Value = self.en
        first: Value = self.i_first
        while True:
            level, held, now = len(keys), list[Value](), Cat(valid, first)
            for number, key in enumerate(keys):
                register = Signal(len(key), name=f"key{level}_{number}", reset_less=True)
                m.d.sync += register.eq(key)
                held.append(register)
            later = Signal(2, name=f"valid{level}", reset_less=True)
            m.d.sync += later.eq(now)
            valid, first = later[0], later[1]
            if level == 1:
                break
            pairs = [held[at : at + 2] for at in range(0, level, 2)]
            keys = [_greater(*pair) if len(pair) > 1 else pair[0] for pair in pairs]
        key = held[0]
        most = Signal(len(key), reset_less=True)
        with m.If(valid & (first | (key > most))):
            m.d.sync += most.eq(key)
        reported = Signal(GREATEST_WIDTH, reset_less=True)
        whole = (most + 1)[1:] if self._signed else most >> 1
        m.d.sync += reported.eq(whole)
        m.d.comb += self.o.eq(reported)
        return m

    @property
    def _signed(self) -> bool:
        """Whether sums are in two's complement."""
        return self.spec.inside.signed and not self.spec.inside.a_sides

    def _key(self, value: Value) -> Value:
        """Return by what a sum is compared; 0 if it is no number."""
        inside = self.spec.inside
        total, sign = value[: inside.sum_width], Value.cast(C(0, 1))
        if inside.a_sides:
            total = total[:-1]
        elif inside.signed:
            sign = total[-1]
            total = total[:-1] ^ sign.replicate(len(total) - 1)
        key = Cat(sign, total)
        return Mux(value[-1], 0, key) if inside.flags else key


def _greater(one: Value, other: Value) -> Value:
    """Return the greater one."""
    return Mux(one > other, one, other)


def watch_sums(
    m: Module, writer: Any, row: Any, leaves: tuple[Value, Value, Value], waits: tuple[Value, Value]
) -> None:
    """Have the greatest sum noted, if the build reports it.

    Parameters
    ----------
    m : where.
    writer : :class:`~hw.soc.path.result_writer.ResultWriter`.
    row : :class:`~hw.soc.path.stored_row.StoredRow`.
    leaves : a piece leaves its row; a bit for each piece: it is that one; it is the last one.
    waits : a piece that waits is sent; that piece, in its row.
    """
    if not writer.spec.amax:
        return
    across, (now, at_piece, last), (sent, waiting) = writer.across, leaves, waits
    m.submodules.greatest_sum = unit = GreatestSum(writer.spec, across)
    begins = Signal(init=1, name="begins_job")
    ends, inside = Signal(name="ends_job_of_piece"), Signal(across, name="inside_piece")
    of_pieces = [
        Cat(at & row.inside[piece * across + column] for piece, at in enumerate(at_piece)).any()
        for column in range(across)
    ]
    with m.If(now):
        m.d.sync += [ends.eq(last & row.ends_job), inside.eq(Cat(of_pieces))]
    with m.If(sent):
        m.d.sync += begins.eq(ends)
    m.d.comb += [
        unit.en.eq(sent),
        unit.i.eq(Cat(numbers_of(writer, waiting))),
        unit.i_first.eq(begins),
        unit.i_inside.eq(inside),
        writer.o_greatest.eq(unit.o),
    ]


def events(spec: CoprocessorSpec) -> dict[str, int]:
    """Return the bits of each event of a cycle, of which the array has several."""
    each, more = spec.array_clock.bit_length(), {"greatest": GREATEST_WIDTH} if spec.amax else {}
    return {"compute": each, "stall_load": each, "stall_store": 1, "macs": 64, "invalid": 1, **more}


def report_sums(path: Any) -> list[Any]:
    """Return the assignments of what a data path reports of sums.

    Parameters
    ----------
    path : :class:`~hw.soc.datapath.Datapath`.
    """
    to, writer = path.o_events, path.result_writer
    more = [to.greatest.eq(writer.o_greatest)] if path.spec.amax else []
    return [to.invalid.eq(writer.o_invalid), *more]
