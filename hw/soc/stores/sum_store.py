"""The sum store: accumulates the engine's rows over blocks of K, and outputs them."""

from functools import reduce
from operator import or_
from typing import Any, NamedTuple

from amaranth import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from golden.soc.spec import CoprocessorSpec
from hw.lib.shared_module import SharedModule
from hw.soc.schedule.geometry import Geometry
from hw.soc.schedule.tile_walk import SumsRequest
from hw.soc.stores.operand_store import Bank
from hw.soc.stores.sum_rows import StoredRow, SumRead

__all__ = ["SumStore"]


class _Taken(NamedTuple):
    """The row of the engine that is taken: whether there is one, its address and half.

    And whether it, if it comes, is added to what is stored; ends its block; completes a row of C.
    """

    taken: Signal
    address: Signal
    half: Signal
    adds: Signal
    done: Signal
    completes: Value


class _Store(NamedTuple):
    """What is written: whether anything is, its half and address, and the sums."""

    write: Signal
    to: data.View
    total: Signal


class SumStore(wiring.Component):
    """Double-buffered rows of n sums: one half accumulates while the other leaves.

    Throughput: one row per cycle, of a tile or of the existing C, which has priority: both use the
    same port. A row can be read 3 cycles after it is written, or 2 if a tile has one row; that is
    never too late, since a block of one tile is accumulated in the engine. A half whose rows leave
    accumulates no more. Stalls: ``i_write`` reaches ``i_rows.ready`` combinationally.

    Parameters
    ----------
    spec : CoprocessorSpec
        What: the engine, the store.
    copies : int
        How: of each sum, 1 or 2: with one to be added to and one to leave, there are no
        multiplexers between halves, and no logic between a bank and its register, but twice the
        memory; no more of it where a block RAM is as deep as both halves.

    Members
    -------
    i_geometry : In
        The job.
    i : In(stream)
        :class:`SumsRequest`: destination of the next tile, a cycle before its rows are taken.
    i_rows : In(stream)
        :class:`StoredRow`, from the engine.
    i_write, i_write_half, i_write_address, i_write_row : In
        A row of the existing C, see :class:`hw.soc.path.accumulate_in.AccumulateIn`.
    o_bias, i_bias : Out, In
        Columns whose biases are read; these, in the next cycle.
    o_bias_release : Out(1)
        The block's biases are not needed any more.
    read : In(SumRead)
        Rows that leave.
    """

    i_geometry: data.View
    i: stream.Interface
    i_rows: stream.Interface
    i_write: Signal
    i_write_half: Signal
    i_write_address: Signal
    i_write_row: Signal
    o_bias: Signal
    i_bias: Signal
    o_bias_release: Signal
    read: Any

    def __init__(self, spec: CoprocessorSpec, *, copies: int = 1):
        self.spec = spec
        self.copies = copies
        width = spec.inside.n * spec.number_width
        self.bank = Bank("sums_bank", width, spec.rows * copies)
        # A register behind the banks: blocks of two tiles or more come back late enough.
        self.late = spec.inside.m > 1
        layout = SumsRequest(spec)
        self.request = data.View(layout, Signal(layout.size, name="request", reset_less=True))
        super().__init__({
            "i_geometry": In(Geometry(spec)),
            "i": In(stream.Signature(SumsRequest(spec))),
            "i_rows": In(stream.Signature(StoredRow(spec))),
            "i_write": In(1),
            "i_write_half": In(1),
            "i_write_address": In(range(spec.rows)),
            "i_write_row": In(width),
            "o_bias": Out(range(spec.rows)),
            "i_bias": In(width),
            "o_bias_release": Out(1),
            "read": In(SumRead(spec)),
        })

    @property
    def shared_modules(self) -> tuple[SharedModule, ...]:
        """The bank of a half, or of a copy."""
        return (self.bank,)

    def elaborate(self, platform):
        m = Module()
        taken = self._take(m)
        banks = [self.bank.place() for _ in range(2)]
        store = self._sum(m, taken, banks)
        if self.copies > 1:
            self._read_copy(m, taken, store, banks)
        else:
            self._read_half(m, taken, store, banks)
        return m

    def _take(self, m: Module) -> _Taken:
        """Take rows of the engine while their half is free, and none of the existing C comes."""
        spec, row = self.spec, self.i_rows.payload
        # The tile's request, in registers; its address is that of the next row.
        request, valid = self.request, Signal(name="request_valid")
        free, after, usable = Signal(2, init=2), Signal(2), Signal(init=1)
        taken, ends, done, half = Signal(), Signal(), Signal(), Signal()
        line, adds = Signal(range(spec.inside.m)), Signal()
        m.d.comb += [
            self.i_rows.ready.eq(valid & usable & ~self.i_write),
            taken.eq(self.i_rows.valid & self.i_rows.ready),
            ends.eq(taken & row.last),
            # Read until the row is taken: no row leaves from a half in which others are added to.
            adds.eq(valid & request.add),
            self.i.ready.eq(~valid | ends),
            done.eq(ends & request.done),
            after.eq(free + self.read.free - done),
            self.o_bias.eq(request.column),
            self.o_bias_release.eq(done & self.i_geometry.biased),
        ]
        m.d.sync += [free.eq(after), usable.eq(after != 0), half.eq(half ^ done)]
        with m.If(taken):
            m.d.sync += request.address.eq(request.address + self.i_geometry.across)
            m.d.sync += line.eq(Mux(row.last, 0, line + 1))
        with m.If(self.i.ready):
            m.d.sync += [valid.eq(self.i.valid), request.eq(self.i.payload)]
        return _Taken(taken, request.address, half, adds, done, request.rows > line)

    def _sum(self, m: Module, row: _Taken, banks: list[Any]) -> _Store:
        """Add what is in the store, biases, or nothing; return what is to be written."""
        spec, request, data_in = self.spec, self.request, self.i_rows.payload.data
        address, half = row.address, row.half
        # The addend: nothing, sums of either half, biases, or the existing C, added to nothing.
        late = data.StructLayout({"address": len(address), "half": 1})
        write = data.View(late, Signal(late.size, name="write", reset_less=True))
        writes, row_complete = Signal(), Signal()
        rows, given = (
            Signal(len(data_in), name=name, reset_less=True) for name in ("rows", "given")
        )
        # The bank whose row is added to, a bit for each: of a half, or of the copy that is read.
        of_bank = [C(1, 1)] if self.copies > 1 else [~half, half]
        biased, stored = Signal(reset_less=True), Signal(len(of_bank), reset_less=True)
        m.d.sync += [
            writes.eq(row.taken | self.i_write),
            row_complete.eq(row.taken & row.completes),
            rows.eq(Mux(self.i_write, 0, data_in)),
            given.eq(Mux(self.i_write, self.i_write_row, 0)),
            write.address.eq(Mux(self.i_write, self.i_write_address, address)),
            write.half.eq(Mux(self.i_write, self.i_write_half, half)),
            biased.eq(request.bias & ~self.i_write),
            stored.eq(Cat(request.add & ~self.i_write & here for here in of_bank)),
        ]
        full = Signal()
        m.d.sync += full.eq(row.done)
        bias = Mux(biased, self.i_bias, 0) if spec.bias else C(0)
        addends = self._addends(m, stored, banks, [bias, given])
        terms, to, stores = rows, write, writes
        if self.late:
            terms = Signal(len(data_in), name="terms", reset_less=True)
            to = data.View(late, Signal(late.size, name="to", reset_less=True))
            stores = Signal()
            m.d.sync += [terms.eq(rows), to.eq(write)]
            m.d.sync += [
                stores.eq(writes),
                self.read.row_complete.eq(row_complete),
                self.read.half_complete.eq(full),
            ]
        else:
            m.d.comb += [self.read.row_complete.eq(row_complete), self.read.half_complete.eq(full)]
        total = Signal(len(data_in))
        m.d.comb += total.eq(self._add(terms, Value.cast(reduce(or_, addends))))
        return _Store(stores, to, total)

    def _addends(
        self, m: Module, stored: Value, banks: list[Any], others: list[Value]
    ) -> list[Value]:
        """Return what banks have read, as far as it is added, and the other addends."""
        # Block RAM is slow: a register follows each bank at once, which the other resets to 0. That
        # of a copy is the bank's own, without a reset: the table that adds it masks it.
        masks = self.late and self.copies > 1
        olds: list[Value] = [
            bank.o if masks else Mux(use, bank.o, 0)
            for use, bank in zip(stored, banks, strict=False)
        ]
        if not self.late:
            return [*olds, *others]
        names = [*(f"old{number}" for number in range(len(olds))), "bias", "existing"]
        addends = [
            Signal(len(value), name=name, reset_less=True)
            for name, value in zip(names, [*olds, *others], strict=True)
        ]
        m.d.sync += [now.eq(was) for now, was in zip(addends, [*olds, *others], strict=True)]
        if not masks:
            return [*addends]
        used = Signal(name="used", reset_less=True)
        m.d.sync += used.eq(stored)
        return [Mux(used, addends[0], 0), *addends[1:]]

    def _read_copy(self, m: Module, row: _Taken, store: _Store, banks: list[Any]) -> None:
        """Write both copies of all rows; one is added to, the other one leaves."""
        m.submodules.inner, m.submodules.outer = inner, outer = banks
        for bank in banks:
            m.d.comb += [
                bank.write.eq(store.write),
                bank.i_address.eq(Cat(store.to.half, store.to.address)),
                bank.i.eq(store.total),
            ]
        m.d.comb += [
            inner.en.eq(row.adds),
            inner.o_address.eq(Cat(row.half, row.address)),
            outer.en.eq(self.read.en),
            outer.o_address.eq(Cat(self.read.half, self.read.address)),
            self.read.row.eq(outer.o),
        ]

    def _read_half(self, m: Module, row: _Taken, store: _Store, banks: list[Any]) -> None:
        """Write one half or the other; one is added to while the other one leaves."""
        for number in range(2):
            m.submodules[f"half{number}"] = bank = banks[number]
            # Never both: what is added to does not leave.
            added_to = row.adds & (row.half == number)
            leaves = self.read.en & (self.read.half == number)
            m.d.comb += [
                bank.write.eq(store.write & (store.to.half == number)),
                bank.i_address.eq(store.to.address),
                bank.i.eq(store.total),
                bank.en.eq(leaves | added_to),
                bank.o_address.eq(Mux(added_to, row.address, self.read.address)),
            ]
        left = Signal()
        with m.If(self.read.en):
            m.d.sync += left.eq(self.read.half)
        m.d.comb += self.read.row.eq(Mux(left, banks[1].o, banks[0].o))

    def _add(self, one: Value, other: Value) -> Value:
        """Add rows element by element; NaN flags are sticky."""
        width, flags = self.spec.number_width, self.spec.inside.flags
        parts: list[Value] = []
        for at in range(0, len(one), width):
            x, y = one[at : at + width], other[at : at + width]
            if flags:
                parts.append(Cat((x[:-1] + y[:-1])[: width - 1], x[-1] | y[-1]))
            else:
                parts.append((x + y)[:width])
        return Cat(parts)
