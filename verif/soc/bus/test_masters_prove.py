"""Rules of AXI4 that the masters keep whatever bus and core do, proven by induction."""

from typing import Any

import pytest
from amaranth import Array, Cat, Module, Mux, Signal, Value

from golden.soc.bus import BusSpec
from hw.soc.bus.read_master import ReadMaster
from hw.soc.bus.write_master import WriteMaster
from verif.soc.bus.invariant import always, say_their_levels

SPECS = [
    BusSpec(data_width=32, address_width=32, burst=4, outstanding=2),
    BusSpec(data_width=64, address_width=33, burst=1, outstanding=1),
    BusSpec(data_width=512, address_width=16, burst=64, outstanding=1),
    BusSpec(data_width=512, address_width=40, burst=256, outstanding=3),
    BusSpec(data_width=128, address_width=64, burst=7, outstanding=16),
    BusSpec(),
]


def all_of(*claims: Value) -> Value:
    return Cat(claims).all()


def past(m: Module, value: Value) -> Value:
    """Take the value of the cycle before; 0 in the first."""
    before = Signal.like(Value.cast(value), name="past")
    m.d.sync += before.eq(value)
    return before


def count(m: Module, spec: BusSpec, up: Value, down: Value) -> Signal:
    """Count what begins and ends; wide enough to see one too many."""
    number = Signal(range(2 * spec.outstanding + 2), name="count")
    m.d.sync += number.eq(number + up - down)
    return number


def stays(m: Module, valid: Value, ready: Value, *payload: Value) -> Value:
    """Claim that a channel waits with the same payload until it is taken."""
    waits = past(m, valid & ~ready)
    return ~waits | (valid & (Cat(payload) == past(m, Cat(payload))))


def addresses(m: Module, dut: Any, sent: Value, *channel: Value) -> list[Value]:
    """Claim what holds of an address channel; `sent` are bursts whose address was taken."""
    valid, ready, address, length, size, burst, cache, prot = channel
    spec = dut.spec
    beat = spec.bytes.bit_length() - 1
    under_way = sent + valid
    stopped = Signal()
    m.d.sync += stopped.eq((stopped | dut.i_stop) & (under_way != 0))
    drop = stopped | dut.i_stop
    cut, rest = dut.requests.splitter, Signal(len(dut.requests.splitter.offset) + 1, name="rest")
    m.d.comb += rest.eq(cut.offset + cut.low)
    return [
        stays(m, valid, ready, *channel[2:]),
        ~valid | (address[:beat] == 0),
        ~valid | (length < spec.burst),
        ~valid | (address[beat:12] + length < 4096 // spec.bytes),
        ~valid | ((size == beat) & (burst == 1) & (cache == 3) & (prot == 0)),
        under_way <= spec.outstanding,
        ~dut.o_idle | (under_way == 0),
        # No new address while bursts from before a stop are under way, and none after it.
        ~valid | past(m, valid & ~ready) | ~past(m, drop),
        ~drop | ~dut.i.ready,
        # What the induction needs to know of the state.
        ~cut.o.valid | ((cut.alone == (cut.high == 0)) & (cut.short == (cut.low <= cut.most))),
        ~cut.o.valid | ~cut.alone | (cut.crosses == rest[len(cut.offset)]),
        *say_their_levels(dut.requests.pending),
        dut.requests.pending.o_level == under_way,
        dut.requests.o_drop == drop,
    ]


def read_claim(m: Module, dut: ReadMaster) -> tuple[Value, Value]:
    axi = dut.axi
    sent = count(m, dut.spec, axi.arvalid & axi.arready, axi.rvalid & axi.rready & axi.rlast)
    channel = [axi.arvalid, axi.arready, axi.araddr, axi.arlen, axi.arsize, axi.arburst]
    claims = addresses(m, dut, sent, *channel, axi.arcache, axi.arprot)
    drop = dut.requests.o_drop
    claims += [
        axi.rready == (drop | dut.o.ready),
        dut.o.valid == (axi.rvalid & ~drop),
        ~past(m, dut.i_stop) | ~dut.o_error,
    ]
    return all_of(*claims), ~axi.rvalid | (sent != 0)


def write_claim(m: Module, dut: WriteMaster) -> tuple[Value, Value]:
    axi = dut.axi
    sent = count(m, dut.spec, axi.awvalid & axi.awready, axi.bvalid)
    full = count(m, dut.spec, axi.wvalid & axi.wready & axi.wlast, axi.bvalid)
    channel = [axi.awvalid, axi.awready, axi.awaddr, axi.awlen, axi.awsize, axi.awburst]
    claims = addresses(m, dut, sent, *channel, axi.awcache, axi.awprot)
    drop = dut.requests.o_drop
    new = axi.wvalid & ~past(m, axi.wvalid & ~axi.wready)
    ends = axi.wvalid & axi.wlast
    claims += [
        stays(m, axi.wvalid, axi.wready, axi.wdata, axi.wstrb, axi.wlast),
        axi.bready,
        ~drop | ~dut.i_data.ready,
        ~new | ~past(m, drop) | (axi.wstrb == 0),
        ~past(m, dut.i_stop) | ~dut.o_error,
        # No more bursts of data than addresses.
        full + ends <= sent + axi.awvalid,
        dut.length_valid + dut.lengths.o_level + dut.soon.o_level + dut.begun + full + ends
        == dut.requests.pending.o_level,
        ~dut.length_valid | axi.awvalid,
        *say_their_levels(dut.lengths, dut.soon),
    ]
    # A response comes after its address and its last beat.
    return all_of(*claims), ~axi.bvalid | ((sent != 0) & (full != 0))


@pytest.mark.sample(3)
@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: f"{spec.data_width}x{spec.burst}")
def test_read_keeps_the_rules(spec: BusSpec) -> None:
    dut = ReadMaster(spec)
    assert always(dut, lambda m: read_claim(m, dut), cycles=4)


@pytest.mark.sample(2)
@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: f"{spec.data_width}x{spec.burst}")
def test_write_keeps_the_rules(spec: BusSpec) -> None:
    dut = WriteMaster(spec)
    assert always(dut, lambda m: write_claim(m, dut), cycles=4)


class Beats:
    """Checks WLAST by a list, of its own, of the bursts that have begun.

    Induction needs to know that the master's own list, and what is left of the burst whose beats
    come, are the same as these.
    """

    def __init__(self, dut: WriteMaster):
        self.dut = dut
        depth = dut.spec.outstanding
        self.lengths = [Signal(8, name=f"length{place}") for place in range(depth)]
        self.left, self.ends, self.open = Signal(8), Signal(), Signal(range(depth))
        self.head, self.tail = Signal(range(depth)), Signal(range(depth))
        # The two that come soon, from the list's place `near` on.
        self.soon = [Signal(8, name=f"soon{place}") for place in range(2)]
        self.near, self.first, self.free = Signal(range(depth)), Signal(), Signal()

    @property
    def pointers(self) -> list[Signal]:
        """Places of the list."""
        return [self.open, self.near, self.head, self.tail]

    @property
    def same(self) -> dict[str, Value]:
        """Registers of the master that hold the same."""
        pointers = {
            "lengths.queue.consume": self.head,
            "lengths.queue.produce": self.tail,
        }
        return {
            "soon.queue.consume": self.first,
            "soon.queue.produce": self.free,
            **{f"soon.queue.storage[{at}]": value for at, value in enumerate(self.soon)},
            "left": self.left,
            "ends": self.ends,
            **(pointers if len(self.lengths) > 1 else {}),
            **{f"lengths.queue.storage[{at}]": value for at, value in enumerate(self.lengths)},
        }

    def after(self, place: Value) -> Value:
        return Mux(place == len(self.lengths) - 1, 0, place + 1)

    def claim(self, m: Module, slip: int = 0) -> tuple[Value, Value]:
        dut, axi, begin = self.dut, self.dut.axi, self.dut.requests.o_begin
        rules, legal = write_claim(m, dut)
        lengths, soon = Array(self.lengths), Array(self.soon)
        # The burst and the beat that is on the bus, or comes next.
        now, beat = Signal.like(self.head), Signal(8)
        taken = axi.wvalid & axi.wready
        comes = dut.begun & (~axi.wvalid | axi.wready)
        comes &= dut.drops | dut.i_data.valid
        with m.If(dut.length_valid):
            m.d.sync += [lengths[self.tail].eq(axi.awlen)]
            m.d.sync += self.tail.eq(self.after(self.tail))
        with m.If(comes):
            m.d.sync += [self.left.eq(self.left - 1), self.ends.eq(self.left == 1)]
        with m.If(~dut.begun | (comes & (self.left == 0))):
            m.d.sync += [self.left.eq(soon[self.first]), self.open.eq(self.near)]
            m.d.sync += self.ends.eq(soon[self.first] == 0)
            with m.If(dut.soon.o.valid):
                m.d.sync += [self.near.eq(self.after(self.near)), self.first.eq(~self.first)]
        with m.If(dut.lengths.o.valid & dut.soon.i.ready):
            m.d.sync += [soon[self.free].eq(lengths[self.head]), self.free.eq(~self.free)]
            m.d.sync += self.head.eq(self.after(self.head))
        with m.If(taken):
            m.d.sync += beat.eq(Mux(axi.wlast, 0, beat + 1))
            m.d.sync += now.eq(Mux(axi.wlast, self.after(now), now))
        new = axi.awvalid & ~past(m, axi.awvalid & ~axi.awready)
        ends = axi.wvalid & axi.wlast
        between = self.tail - self.head
        level = dut.lengths.o_level
        next_ = self.after(self.near)
        rest = Mux(between < 0, between + len(self.lengths), between)
        # The burst whose beats come next, and how many of them have.
        following = Mux(ends, self.after(now), now)
        come = Mux(ends, 0, (beat + axi.wvalid)[:8])
        claims = [
            rules,
            ~axi.wvalid | (axi.wlast == (beat == lengths[now] + slip)),
            # Begun bursts are those that are offered.
            new == past(m, begin),
            new == dut.length_valid,
            ~new | (axi.awlen == past(m, dut.requests.o_length)),
            # What the induction needs to know of the state.
            following == Mux(dut.begun, self.open, self.near),
            ~dut.begun | (self.near == self.after(self.open)),
            dut.soon.o_level[0] == self.first ^ self.free,
            self.head == Array([self.near, next_, self.after(next_), 0])[dut.soon.o_level],
            (dut.soon.o_level == 0) | (soon[self.first] == lengths[self.near]),
            (dut.soon.o_level != 2) | (soon[~self.first] == lengths[next_]),
            come == Mux(dut.begun, (lengths[self.open] - self.left)[:8], 0),
            ~dut.begun | (self.left <= lengths[self.open]),
            ~dut.begun | (self.ends == (self.left == 0)),
            ~axi.wvalid | axi.wlast | dut.begun,
            (level == rest) | ((level == len(self.lengths)) & (rest == 0)),
            *(pointer < len(self.lengths) for pointer in (now, *self.pointers)),
        ]
        return all_of(*claims), legal


@pytest.mark.sample(1)
@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: f"{spec.data_width}x{spec.burst}")
def test_write_ends_bursts_with_their_last_beat(spec: BusSpec) -> None:
    dut = WriteMaster(spec)
    beats = Beats(dut)
    assert always(dut, beats.claim, cycles=4, same=beats.same)


@pytest.mark.prove
def test_masters_proof_can_fail() -> None:
    writer, reader = WriteMaster(SPECS[0]), ReadMaster(SPECS[0])
    beats = Beats(writer)
    assert not always(writer, lambda m: beats.claim(m, slip=1), cycles=12)

    def claim(m: Module) -> tuple[Value, Value]:
        ok, legal = read_claim(m, reader)
        return ok & ~(reader.axi.arvalid & (reader.axi.arlen == 3)), legal

    assert not always(reader, claim, cycles=12)
