"""Store of what each column of a block has: biases, or requantisations."""

from amaranth import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from golden.soc.spec import CoprocessorSpec
from hw.lib.shared_module import SharedModule
from hw.soc.bus.burst import Beat
from hw.soc.stores.operand_store import OperandStore

__all__ = ["ColumnStore"]


class ColumnStore(wiring.Component):
    """Keeps so many bytes for each column of a few blocks, and hands out those of a tile.

    Parameters
    ----------
    spec : CoprocessorSpec
        What: the engine, the bus.
    name : str
        What: of the module of its bank.
    size : int
        What: bytes of a column.
    parts : int
        What: blocks, a power of two.

    Members
    -------
    i : In(stream)
        :class:`hw.soc.bus.burst.Beat`: words of a block's row, always taken.
    en, i_column : In
        Read: of which tile of its row.
    i_release : In(1)
        The block's are of no use any more.
    o : Out
        What n columns have, of the last ``en``.
    """

    i: stream.Interface
    en: Signal
    i_column: Signal
    i_release: Signal
    o: Signal

    def __init__(self, spec: CoprocessorSpec, name: str, size: int, parts: int):
        width = 8 * size * spec.inside.n
        self.slices = spec.row_slices(size)
        self.store = OperandStore(name, 1, self.slices * width // 8, spec.row_words(size), parts)
        super().__init__({
            "i": In(stream.Signature(Beat(self.slices * width))),
            "en": In(1),
            "i_column": In(range(spec.rows)),
            "i_release": In(1),
            "o": Out(width),
        })

    @property
    def shared_modules(self) -> tuple[SharedModule, ...]:
        """The bank."""
        return self.store.shared_modules

    def elaborate(self, platform):
        m = Module()
        m.submodules.store = store = self.store
        wiring.connect(m, wiring.flipped(self.i), store.i)
        part, chosen = Signal.like(store.o_part), Signal(range(self.slices))
        with m.If(self.i_release):
            m.d.sync += part.eq(part + 1)
        with m.If(self.en):
            m.d.sync += chosen.eq(self.i_column)
        m.d.comb += [
            store.i_end.eq(1),
            store.en.eq(self.en),
            store.o_part.eq(part),
            store.o_address.eq(self.i_column // self.slices),
            self.o.eq(store.o.word_select(chosen, len(self.o))),
        ]
        return m
