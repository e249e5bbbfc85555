"""An SDRAM chip at the pins of a controller under cocotb: its data, its timing, and its faults."""

from dataclasses import dataclass, field
from typing import Any

import cocotb
import numpy as np
from cocotb.triggers import FallingEdge, RisingEdge

from carrysave.sim.cocotb.pins import bits_of

__all__ = ["SdramChip", "SdramTiming"]

_DESELECT, _NOTHING = 0b1111, 0b0111
_ACTIVE, _READ, _WRITE, _PRECHARGE, _REFRESH, _MODE = 0b011, 0b101, 0b100, 0b010, 0b001, 0b000
_ALL = 1 << 10
"""Of an address: all banks of a precharge; a precharge behind a read or write."""


@dataclass(frozen=True, kw_only=True)
class SdramTiming:
    """Least times of a chip, in ns; of MT48LC16M16A2-75 by its data sheet.

    Members
    -------
    rcd : from activating a row to a read or write of it.
    rp : from a precharge to the next command of the bank.
    ras, most_ras : from activating a row to its precharge, at least and at most.
    rc : from activating a row to the next one of the bank.
    rfc : of a refresh.
    wr : from the last data of a write to the precharge.
    mrd : cycles from a mode to the next command.
    refi : of a refresh on average; `late` of them may be put off.
    power_up : with a clock before the first command.
    """

    rcd: float = 20.0
    rp: float = 20.0
    ras: float = 44.0
    most_ras: float = 120_000.0
    rc: float = 66.0
    rfc: float = 66.0
    wr: float = 15.0
    mrd: int = 2
    refi: float = 7812.5
    late: int = 8
    power_up: float = 0.0


@dataclass
class _Bank:
    row: int | None = None
    activated: float = -1e9
    precharged: float = -1e9
    written: float = -1e9


@dataclass
class SdramChip:
    """Four banks behind the pins ``sdram_*`` and ``split_*`` of a design.

    Its clock is that of the design, half a period later. A command that comes too early, to a bank
    in another state, or before the start that the data sheet asks for, is an `AssertionError`; so
    is a refresh that is too late, or data from both sides at a time.

    Parameters
    ----------
    dut : with a clock ``clk``.
    period_ns : of the clock as the timing sees it.
    rows, columns, bits : of a bank: bits of addresses, and of a word.
    stuck_high, stuck_low : bits of all words that are read as 1, or as 0.
    bad : words with such bits of their own: address -> bits that are read flipped.
    silent : it never drives data: the bus keeps what a pull-up makes of it, ones.

    Members
    -------
    memory : words, by address: row, then bank, then column.
    commands : how many came, by name.
    """

    dut: Any
    period_ns: float
    rows: int = 13
    columns: int = 9
    bits: int = 16
    timing: SdramTiming = field(default_factory=SdramTiming)
    stuck_high: int = 0
    stuck_low: int = 0
    bad: dict[int, int] = field(default_factory=dict)
    silent: bool = False

    def __post_init__(self) -> None:
        """Begin to watch the pins."""
        self.memory = np.zeros(1 << (self.rows + 2 + self.columns), np.uint32)
        self.commands = dict.fromkeys(("active", "read", "write", "precharge", "refresh"), 0)
        self.latency = 0
        self._banks = [_Bank() for _ in range(4)]
        self._now = 0.0
        self._ready = 0.0
        """Time before which no command may come, after a refresh or a mode."""
        self._started = [0, 0]
        """Precharges of all banks, and refreshes, so far."""
        self._began: float | None = None
        """When the mode was set."""
        self._out: dict[int, int] = {}
        """Words on their way out, by cycle."""
        self._cycle = 0
        self._open = (1 << self.bits) - 1
        self.dut.split_i.value = self._open
        cocotb.start_soon(self._run())

    async def _run(self) -> None:
        names = ("cs_n", "ras_n", "cas_n", "we_n")
        pins = [bits_of(getattr(self.dut, f"sdram_{name}")) for name in names]
        driven = bits_of(self.dut.split_oe)
        edge = FallingEdge(self.dut.clk)
        shown = self._open
        # Before the first edge of the clock registers have any value.
        await RisingEdge(self.dut.clk)
        while True:
            await edge
            self._cycle += 1
            self._now = self._cycle * self.period_ns
            word = self._out.pop(self._cycle, self._open)
            if word != shown:
                self.dut.split_i.value = shown = word
            if pins[0]() != "0":
                continue
            command = int("".join(pin() for pin in pins[1:]), 2)
            if command != _NOTHING & 7:
                self._take(command)
            if command != _WRITE:
                assert int(driven(), 2) == 0, "the controller drives data that nobody takes"

    def _take(self, command: int) -> None:
        """Carry out a command."""
        timing, now = self.timing, self._now
        address, number = int(self.dut.sdram_a.value), int(self.dut.sdram_ba.value)
        bank = self._banks[number]
        assert now >= timing.power_up, "a command during power-up"
        assert now >= self._ready, f"command {command:03b} during a refresh, or behind a mode"
        if command in (_ACTIVE, _READ, _WRITE):
            assert self._began is not None, "it was not started"
            due = (now - self._began) / timing.refi - self.commands["refresh"]
            assert due <= timing.late, f"{due:.1f} refreshes are missing"
        if command == _MODE:
            self._mode(address)
        elif command == _REFRESH:
            assert all(one.row is None for one in self._banks), "a refresh of open rows"
            assert all(now - one.precharged >= timing.rp for one in self._banks), "tRP"
            self._started[1] += 1
            self.commands["refresh"] += self._began is not None
            self._ready = now + timing.rfc
        elif command == _PRECHARGE:
            self.commands["precharge"] += 1
            self._started[0] += bool(address & _ALL)
            for one in self._banks if address & _ALL else [bank]:
                self._precharge(one, now)
        elif command == _ACTIVE:
            self._activate(bank, address)
        else:
            self._access(bank, number, address, write=command == _WRITE)

    def _mode(self, address: int) -> None:
        assert self._started[0], "a mode before a precharge of all banks"
        assert all(one.row is None for one in self._banks), "a mode while rows are open"
        assert address & 7 == 0, f"bursts of 2^{address & 7} words"
        self.latency = address >> 4 & 7
        assert self.latency in (2, 3), f"CAS latency {self.latency}"
        self._ready = self._now + self.timing.mrd * self.period_ns
        if self._started[1] >= 2:
            self._began = self._now
            self.commands["refresh"] = 0

    def _activate(self, bank: _Bank, row: int) -> None:
        timing, now = self.timing, self._now
        self.commands["active"] += 1
        assert bank.row is None, "a row is open"
        assert now - bank.precharged >= timing.rp, "tRP"
        assert now - bank.activated >= timing.rc, "tRC"
        bank.row, bank.activated = row, now

    def _precharge(self, bank: _Bank, now: float) -> None:
        if bank.row is None:
            return
        assert now - bank.activated >= self.timing.ras, "tRAS"
        assert now - bank.activated <= self.timing.most_ras, "tRAS, at most"
        assert now - bank.written >= self.timing.wr, "tWR"
        bank.row, bank.precharged = None, now

    def _access(self, bank: _Bank, number: int, address: int, *, write: bool) -> None:
        timing, now = self.timing, self._now
        self.commands["write" if write else "read"] += 1
        assert bank.row is not None, "no row is open"
        assert now - bank.activated >= timing.rcd, "tRCD"
        column = address & (1 << self.columns) - 1
        cell = (bank.row << 2 | number) << self.columns | column
        if write:
            assert not self._out, "data of a read is on the bus"
            assert int(self.dut.split_oe.value) == self._open, "the controller drives no data"
            data, keep = int(self.dut.split_o.value), self._masked()
            self.memory[cell] = self.memory[cell] & keep | data & ~keep & self._open
            bank.written = now
        elif not self.silent:
            assert not self._masked(), "data of a read is masked"
            word = int(self.memory[cell]) ^ self.bad.get(cell, 0)
            # After the edge before that at which it is valid.
            due = self._cycle + self.latency - 1
            self._out[due] = (word | self.stuck_high) & ~self.stuck_low
        if address & _ALL:
            after = now if not write else now + timing.wr
            self._precharge(bank, max(bank.activated + timing.ras, after))

    def _masked(self) -> int:
        """Return the bits of bytes that are masked; none, if there are no such pins."""
        if not hasattr(self.dut, "sdram_dm"):
            return 0
        mask = int(self.dut.sdram_dm.value)
        return sum(255 << 8 * byte for byte in range(self.bits // 8) if mask >> byte & 1)
