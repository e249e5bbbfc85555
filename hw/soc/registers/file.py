"""Register file generated from a SystemRDL map: accesses and hardware events of each field."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from amaranth import C, Cat, Const, Module, Mux, Signal, Value
from amaranth.hdl import ValueLike
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Member, Out

from hw.soc.bus.axi_lite import RegisterBus
from hw.soc.registers.job_words import JobWords
from hw.soc.registers.rdl import MapField, fields_of

if TYPE_CHECKING:
    from systemrdl.node import AddrmapNode

__all__ = ["RegisterFile"]

_WRITES = {
    None: lambda value, mask, bits: (value & ~mask) | bits,
    "woset": lambda value, mask, bits: value | bits,
    "woclr": lambda value, mask, bits: value & ~bits,
    "wot": lambda value, mask, bits: value ^ bits,
}
_READS = {"rclr": lambda value: Const(0, len(value))}
"""What reads and writes do, by the property of the field."""


class RegisterFile(wiring.Component):
    """Stores, reads and writes the fields of a map.

    An access to an address without a register is an error. If software and hardware change a field
    in the same cycle, both apply, in the order of its ``precedence``.

    Parameters
    ----------
    top : AddrmapNode
        What: the map, of registers of 32 bits.
    preserved : tuple of str
        What: fields that a restart does not change.
    widths : mapping of str to int
        What: stored bits of argument fields, all by default: the highest stored bit is the OR of
        all from there up, which read as 0.
    words : range
        What: addresses of up to 32 registers whose fields only software changes, all with
        ``swwel``: kept in memory, without a member each.
    elsewhere : range
        What: addresses of registers that are read only and kept elsewhere, without a member each.

    Members
    -------
    bus : In(RegisterBus)
        Accesses of software.
    locked : In(1)
        Writes of registers with ``swwel`` have no effect.
    refused : Out(1)
        Such a write happens in this cycle.
    restart, restart_locked : In(1)
        Resets all fields except those `preserved`: those without, or those with ``swwel``.
    <field> : Out
        Value of a stored field, such as ``ctrl_start`` or, for a field ``value``, ``job_m``.
    <field> : In
        Value of a field that is not stored.
    <field>_set, <field>_clear, <field>_load : In(1)
        Events of a stored field with ``hwset``, ``hwclr``, ``we``.
    <field>_next : In
        The value that ``<field>_load`` loads.
    o_read, o_word, i_word : Out(1), Out, In(32)
        A word of `elsewhere` is read: its number, and the word in the next cycle.
    o_sweeps : Out(1)
        `words` are being reset; there must be no access, for some cycles after ``restart_locked``
        and after a reset.
    i_pair, o_pair : In, Out
        Two of `words`: the address of the first, an even number, divided by 2, modulo 16.
    """

    bus: Any
    locked: Signal
    refused: Signal
    restart: Signal
    restart_locked: Signal

    def __init__(
        self,
        top: "AddrmapNode",
        *,
        preserved: tuple[str, ...] = (),
        widths: Mapping[str, int] = MappingProxyType({}),
        words: range = range(0),
        elsewhere: range = range(0),
    ):
        self.top = top
        self.elsewhere = elsewhere
        self.words = words
        self.preserved = preserved
        self.widths = widths
        self.fields = tuple(fields_of(top))
        members: dict[str, Member] = {
            "bus": In(RegisterBus(self.address_width - 2)),
            "locked": In(1),
            "refused": Out(1),
            "restart": In(1),
            "restart_locked": In(1),
        }
        for field in self.fields:
            if not (self._in_memory(field) or self._is_elsewhere(field)):
                members |= _members(field)
        if elsewhere:
            members |= {"o_read": Out(1), "o_word": Out(range(len(elsewhere))), "i_word": In(32)}
        if words:
            members |= {"i_pair": In(4), "o_pair": Out(64), "o_sweeps": Out(1)}
        super().__init__(members)

    @property
    def address_width(self) -> int:
        """Bits of a byte address."""
        return (self.top.size - 1).bit_length()

    def _is_elsewhere(self, field: MapField) -> bool:
        return field.register.absolute_address // 4 in self.elsewhere

    def _in_memory(self, field: MapField) -> bool:
        return field.register.absolute_address // 4 in self.words

    def elaborate(self, platform):
        m = Module()
        bus = self.bus
        mask, bits = Signal(32), Signal(32)
        locked: list[Value] = []
        words: dict[int, Signal] = {}
        m.d.comb += [
            mask.eq(Cat(strobe.replicate(8) for strobe in bus.write_strobe)),
            bits.eq(bus.write_data & mask),
        ]
        here = [
            field
            for field in self.fields
            if not (self._in_memory(field) or self._is_elsewhere(field))
        ]
        for register, fields in groupby(here, lambda field: field.register):
            name = "_".join(register.get_path_segments()[1:]).lower()
            address = register.absolute_address // 4
            words[address] = word = Signal(32, name=name)
            written = Signal(name=f"{name}_written")
            read = Signal(name=f"{name}_read")
            m.d.comb += [
                written.eq(bus.write & (bus.write_address == address)),
                read.eq(bus.read & (bus.read_address == address)),
            ]
            for field in fields:
                bit_range = slice(field.node.low, field.node.high + 1)
                write: Value = written
                if field.has("swwel"):
                    write = written & ~self.locked
                    locked.append(written & bus.write_strobe.any())
                access = _Access(write, mask[bit_range], bits[bit_range], read)
                m.d.comb += word[bit_range].eq(self._field(m, field, access))
        value = _at(words, bus.read_address)
        if self.words:
            stored, write = self._memory(m)
            locked.append(write & bus.write_strobe.any())
            value = Mux(_among(self.words, bus.read_address), stored, value)
        m.d.comb += self.refused.eq(self.locked & Cat(locked).any())
        self._answer(m, list(words), value)
        return m

    def _answer(self, m: Module, words: list[int], value: Value) -> None:
        """Answer reads a cycle later, and refuse addresses that there are not."""
        bus, answer, from_elsewhere = self.bus, Signal(32), Signal()
        if self.elsewhere:
            asked = _among(self.elsewhere, bus.read_address)
            m.d.comb += [
                self._port("o_read").eq(bus.read & asked),
                self._port("o_word").eq(bus.read_address - self.elsewhere.start),
            ]
        with m.Switch(bus.write_address):
            with m.Case(*words, *self.words, *self.elsewhere):
                m.d.comb += bus.write_error.eq(0)
            with m.Default():
                m.d.comb += bus.write_error.eq(1)
        with m.Switch(bus.read_address):
            with m.Case(*words, *self.words, *self.elsewhere):
                m.d.sync += [bus.read_error.eq(0), answer.eq(value)]
            with m.Default():
                m.d.sync += [bus.read_error.eq(1), answer.eq(0)]
        m.d.comb += bus.read_data.eq(answer)
        if self.elsewhere:
            m.d.sync += from_elsewhere.eq(asked)
            with m.If(from_elsewhere):
                m.d.comb += bus.read_data.eq(self._port("i_word"))

    def _memory(self, m: Module) -> tuple[Value, Value]:
        """Place the memory; return the word read, and whether a field in it is written."""
        bus, port = self.bus, self._port
        masks: dict[int, int] = {}
        for field in filter(self._in_memory, self.fields):
            if field.kind == "stored":
                word = field.register.absolute_address // 4 % 32
                bits = ((1 << field.node.width) - 1) << field.node.low
                masks[word] = masks.get(word, 0) | bits
        stored = [address for address in self.words if address % 32 in masks]
        m.submodules.words = memory = JobWords(masks)
        written = Signal(name="words_written")
        m.d.comb += [
            written.eq(bus.write & _among(stored, bus.write_address)),
            memory.i_clear.eq(self.restart_locked),
            port("o_sweeps").eq(memory.o_sweeps),
            memory.write.eq(written & ~self.locked),
            memory.i_address.eq(bus.write_address),
            memory.i_strobe.eq(bus.write_strobe),
            memory.i_data.eq(bus.write_data),
            memory.i_host.eq(bus.read_address),
            memory.i_pair.eq(port("i_pair")),
            port("o_pair").eq(memory.o_pair),
        ]
        return memory.o_host, written

    def _port(self, name: str) -> Any:
        return getattr(self, name)

    def _field(self, m: Module, field: MapField, access: "_Access") -> ValueLike:
        """Make one field, and return its read value."""
        if field.kind == "constant":
            return field.reset
        value = getattr(self, field.name)
        if field.kind == "wire":
            return value
        restart: Value = C(0, 1)
        if field.name not in self.preserved:
            restart = self.restart_locked if field.has("swwel") else self.restart
        if field.plain:
            self._write_bytes(m, field, access.written)
            with m.If(restart):
                m.d.sync += value.eq(field.reset)
            return value
        steps = [self._by_hardware, self._by_software]
        if field.property("precedence") == "hw":
            steps.reverse()
        now = value
        for step in steps:
            now = step(field, access, now)
        m.d.sync += value.eq(Mux(restart, field.reset, now))
        return value

    def _write_bytes(self, m: Module, field: MapField, written: Value) -> None:
        """Write the bytes whose strobe is set: a clock enable per byte, no gates per bit."""
        value, bus, low = getattr(self, field.name), self.bus, field.node.low
        high = min(field.node.high, low + self.widths.get(field.name, field.node.width) - 1)
        for byte in range(low // 8, high // 8 + 1):
            first, end = max(8 * byte, low), min(8 * byte + 8, high + 1)
            with m.If(written & bus.write_strobe[byte]):
                m.d.sync += value[first - low : end - low].eq(bus.write_data[first:end])
        if low <= high < field.node.high:
            beyond, stays = bus.write_data[high : field.node.high + 1], ~bus.write_strobe.all()
            strobes = Cat(bus.write_strobe[bit // 8] for bit in range(high, field.node.high + 1))
            with m.If(written):
                top = value[high - low]
                m.d.sync += top.eq((top & stays) | (beyond & strobes).any())

    def _by_software(self, field: MapField, access: "_Access", now: Value) -> Value:
        """Apply a software access to a field."""
        onread = field.property("onread")
        if onread is not None:
            now = Mux(access.read, _READS[onread](now), now)
        if field.node.is_sw_writable:
            written = _WRITES[field.property("onwrite")](now, access.mask, access.bits)
            now = Mux(access.written, written, now)
        return now

    def _by_hardware(self, field: MapField, access: "_Access", now: Value) -> Value:
        """Apply hardware events to a field: what clears it is a register's reset."""
        if field.has("we"):
            loaded = getattr(self, f"{field.name}_next")
            now = Mux(getattr(self, f"{field.name}_load"), loaded, now)
        if field.has("hwclr"):
            now = Mux(getattr(self, f"{field.name}_clear"), 0, now)
        if field.has("hwset"):
            now = Mux(getattr(self, f"{field.name}_set"), ~Const(0, field.node.width), now)
        return now


class _Access(NamedTuple):
    """Accesses to a field's register in a cycle."""

    written: Value
    mask: Value
    bits: Value
    read: Value


def _among(addresses: Sequence[int], address: Value) -> Value:
    """Return whether an address is one of a list."""
    return address.matches(*addresses)


def _at(words: Mapping[int, Value], address: Value) -> Value:
    """Select a word by a multiplexer tree; the address is always that of a word."""
    if len(words) == 1:
        return next(iter(words.values()))
    high = len(address) - 1
    below, above = (
        {at % (1 << high): word for at, word in words.items() if at >> high == side}
        for side in range(2)
    )
    chosen = [_at(side, address[:high]) for side in (below, above) if side]
    return Mux(address[high], chosen[-1], chosen[0])


def _members(field: MapField) -> dict[str, Member]:
    """Ports of one field."""
    width = field.node.width
    if field.kind == "constant":
        return {}
    if field.kind == "wire":
        return {field.name: In(width)}
    members = {field.name: Out(width, init=field.reset)}  # type: ignore[call-arg]
    events = {"hwset": "set", "hwclr": "clear", "we": "load"}
    members |= {f"{field.name}_{event}": In(1) for name, event in events.items() if field.has(name)}
    if field.has("we"):
        members[f"{field.name}_next"] = In(width)
    return members
