"""Store of per-column data of a block: biases, or requantisation records."""

from amaranth import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from golden.soc.spec import CoprocessorSpec
from hw.lib.shared_module import SharedModule
from hw.soc.bus.burst import Beat
from hw.soc.stores.operand_store import OperandStore

__all__ = ["ColumnStore"]


class ColumnStore(wiring.Component):
    """Holds some bytes for each column of a few blocks, and reads those of a tile.

    Parameters
    ----------
    spec : CoprocessorSpec
        What: the engine, the bus.
    name : str
        What: of the module of its bank.
    size : int
        What: bytes of a column.
    parts : int
        What: buffers, one per block, a power of two.
    across : int
        What: columns that are read at once, a divisor of a tile's.

    Members
    -------
    i : In(stream)
        :class:`hw.soc.bus.burst.Beat`: words of a block's row, always taken.
    en, i_column : In
        Read; index of the columns, counted in `across`.
    i_release : In(1)
        The block's buffer can be refilled.
    o : Out
        Data of the columns, of the last ``en``.
    """

    i: stream.Interface
    en: Signal
    i_column: Signal
    i_release: Signal
    o: Signal

    def __init__(self, spec: CoprocessorSpec, name: str, size: int, parts: int, across: int):
        width = 8 * size * across
        self.slices = spec.row_slices(size, across)
        words = spec.row_words(size, across)
        self.store = OperandStore(name, 1, self.slices * width // 8, words, parts)
        super().__init__({
            "i": In(stream.Signature(Beat(self.slices * width))),
            "en": In(1),
            "i_column": In(range(spec.rows * spec.inside.n // across)),
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
