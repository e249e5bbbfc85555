"""The link comes back: proven from any state of its registers."""

import zlib

import pytest
from amaranth import Array, Const, Module, Mux, Signal, Value

from golden.soc.coprocessor_uart import CoprocessorUartSpec
from golden.soc.serial.host_link import HostLinkFormat
from golden.tpe.systolic_os import SystolicOsSpec
from hw.soc.serial.host_link import HostLink
from verif.support.formal import holds

pytestmark = pytest.mark.prove

SPEC = CoprocessorUartSpec(engine=SystolicOsSpec(m=1, n=1))
GAP = 10
"""Cycles between bytes; a line has more."""


def clock(m: Module, last: int) -> Signal:
    """Count cycles; that the count is `last` says how it was in all cycles before."""
    now = Signal(range(last + 2))
    m.d.sync += now.eq(Mux(now > last, now, now + 1))
    return now


def greeted(m: Module, *, delimiter: bool, damage: int = 0) -> Value:
    """Claim that a frame is answered, whatever the link was waiting for when it began."""
    m.submodules.link = link = HostLink(SPEC, 12)
    content = bytes([0x55, 0, 0, 0, HostLinkFormat.HELLO, 0, 0, 0, 0])
    content += (zlib.crc32(content) ^ damage).to_bytes(4, "little")
    last = GAP * (len(content) + 2)
    now = clock(m, last)
    place = Signal(range(len(content) + 4))
    m.d.comb += [
        place.eq(sum((now > GAP * number for number in range(len(content) + 1)), Const(0))),
        link.i.eq(Array([0, *content, 0, 0])[place]),
    ]
    for number in range(len(content)):
        with m.If(now == GAP * (number + 1)):
            m.d.comb += link.i_valid.eq(1)
    with m.If(now == 0):
        m.d.comb += link.i_end.eq(delimiter)
    waited = Signal()
    with m.If(now == 0):
        m.d.sync += waited.eq(link.waits & link.legal)
    return (now != last) | ~waited | (link.o.valid & link.o.payload.end & ~link.waits)


def test_link_hears_a_delimiter_from_any_state() -> None:
    assert holds(lambda m: greeted(m, delimiter=True), cycles=GAP * 15)


def test_link_hears_nothing_without_a_delimiter_or_with_damage() -> None:
    assert not holds(lambda m: greeted(m, delimiter=False), cycles=GAP * 15)
    assert not holds(lambda m: greeted(m, delimiter=True, damage=1), cycles=GAP * 15)


def comes_back(m: Module, last: int) -> Value:
    """Claim that in so many cycles the link has moved a byte of memory, or waits."""
    m.submodules.link = link = HostLink(SPEC, 12)
    memory, axi = link.memory, link.registers
    now, before = clock(m, last), Signal(16)
    # All that it works with is ready.
    m.d.sync += memory.done.eq(memory.request & ~memory.done)
    m.d.comb += [
        link.o.ready.eq(1),
        axi.awready.eq(1),
        axi.wready.eq(1),
        axi.arready.eq(1),
        axi.bvalid.eq(1),
        axi.rvalid.eq(1),
    ]
    legal = Signal()
    with m.If(now == 0):
        m.d.sync += legal.eq(link.legal)
    with m.If(now == 8):
        m.d.sync += before.eq(link.count[:16])
    return (now != last) | ~legal | link.waits | (link.count[:16] < before)


def test_link_waits_again_from_any_state() -> None:
    assert holds(lambda m: comes_back(m, 60), cycles=60)
    assert not holds(lambda m: comes_back(m, 20), cycles=20)
