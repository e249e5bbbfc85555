"""Bursts of all rows there are, against plain arithmetic, by induction over the bursts of a row."""

import pytest
from amaranth import Module, Mux, Signal, Value
from amaranth.lib import data

from golden.soc.bus import BusSpec
from hw.soc.bus.burst import Extent, Splitter, extent
from verif.soc.bus.invariant import always

SPECS = [
    BusSpec(),
    BusSpec(data_width=32, burst=256),
    BusSpec(data_width=32, address_width=32, burst=1),
    BusSpec(data_width=512, burst=256),
    BusSpec(data_width=64, address_width=40, burst=7),
]


def least(*values: Value) -> Value:
    found = values[0]
    for value in values[1:]:
        found = Mux(value < found, value, found)
    return found


class Cut:
    """What is left of a row, as its address in beats and its beats less one."""

    def __init__(self, dut: Splitter):
        self.dut, spec = dut, dut.spec
        self.beat = spec.bytes.bit_length() - 1
        self.at = Signal(spec.address_width - self.beat)
        self.left = Signal(33 - self.beat)

    @property
    def same(self) -> dict[str, Value]:
        """Registers of the splitter that hold the same."""
        spec, page = self.dut.spec, 12 - self.beat
        width = max(1, (min(spec.burst, 1 << page) - 1).bit_length())
        return {
            "offset": self.at[:page],
            "page": self.at[page:],
            "low": self.left[:width],
            "high": self.left[width:],
        }

    def claim(self, m: Module, slip: int = 0) -> tuple[Value, Value]:
        i, o, beat, spec = self.dut.i, self.dut.o, self.beat, self.dut.spec
        row, burst = i.payload, o.payload
        page = 4096 // spec.bytes
        valid, ends = Signal(), Signal()
        beats = Signal(9)
        m.d.comb += [
            beats.eq(least(self.left + 1, page - self.at % page, Value.cast(spec.burst))),
            ends.eq(beats == self.left + 1),
        ]
        with m.If(o.ready):
            m.d.sync += [self.at.eq(self.at + beats), self.left.eq(self.left - beats)]
        with m.If(i.ready):
            end = row.address[:beat] + row.bytes - 1
            m.d.sync += [self.at.eq(row.address >> beat), self.left.eq(end >> beat)]
            m.d.sync += valid.eq(i.valid)
        with m.If(self.dut.i_clear):
            m.d.sync += valid.eq(0)
        right = (
            (burst.address == self.at << beat)
            & (burst.length + 1 + slip == beats)
            & (burst.last == ends)
        )
        ready = i.ready == (~valid | (o.ready & ends))
        # Of a row that a burst could hold, by its size: its first and its last beat.
        last = Signal(33 - beat)
        m.d.comb += last.eq((row.address[:beat] + row.bytes - 1) >> beat)
        width = len(self.dut.low)
        crosses = (row.address[beat:12] + last) >= page

        def says(size: data.View) -> Value:
            alone = size.alone == (last >> width == 0)
            return (size.beats == last) & alone & (~size.alone | (size.crosses == crosses))

        layout = Extent(spec)
        size = data.View(layout, Signal(layout.size, name="size"))
        m.d.comb += size.eq(extent(spec, row))
        there = row.bytes != 0
        legal = says(self.dut.i_extent) & (~i.valid | there)
        return (o.valid == valid) & ready & (~valid | right) & (~there | says(size)), legal


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: f"{spec.data_width}x{spec.burst}")
def test_splitter_cuts_every_row(spec: BusSpec) -> None:
    """Each burst is as long as the row, the limit and 4 KiB allow, and follows the one before."""
    cut = Cut(Splitter(spec))
    assert always(cut.dut, cut.claim, cycles=3, same=cut.same)


def test_splitter_proof_can_fail() -> None:
    cut = Cut(Splitter(SPECS[0]))
    assert not always(cut.dut, lambda m: cut.claim(m, slip=1), cycles=4)
