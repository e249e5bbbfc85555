"""DDR3 and its PHY behind DFI, under cocotb: data, read delays of each byte, and faults."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import cocotb
import numpy as np
from cocotb.triggers import FallingEdge, RisingEdge

from carrysave.sim.cocotb.pins import bits_of, flag_of, writer_of

__all__ = ["Ddr3Phy", "Windows"]

_ACTIVE, _READ, _WRITE, _PRECHARGE, _REFRESH, _MODE, _CALIBRATE, _NOTHING = 3, 5, 4, 2, 1, 0, 6, 7
_ALL = 1 << 10
"""Of an address: all banks of a precharge; a precharge behind a read or write."""
_PHASES, _WORDS, _BYTES = 2, 8, 2
_DELAYS, _SLIPS = 8, 4
_POSTPONED = 9
"""Refreshes' intervals that may pass without one."""
_PINS = (
    *("cs_n", "ras_n", "cas_n", "we_n", "address", "bank", "cke", "reset_n"),
    *("wrdata", "wrdata_en", "wrdata_mask", "rddata_en"),
)
_MOVES = ("delay_reset", "delay_next", "slip_reset", "slip_next")

Windows = Mapping[int, Sequence[int]]
"""Bit slip -> delays at which a byte is read right."""


@dataclass
class Ddr3Phy:
    """Eight banks of words of 16 bits behind pins ``dfi_*``, two commands in a cycle.

    A byte is right at some bit slips and delays only. At another delay one bit of a burst differs,
    each time the same; at another bit slip words come too early or too late. A command to a bank
    in another state, before the start that the standard asks for, or to a phase that its latency
    does not fit, is an `AssertionError`; so is a refresh that is too late. Times between commands
    are checked by LiteDRAM's own checker in the design.

    Parameters
    ----------
    dut : with a clock ``clk``.
    period_ns : of the clock as the timing sees it.
    windows : of each byte; at delays beside them, too, a burst of its strobe is seen.
    weak : of each byte, delays at which none is seen.
    read_latency, write_latency : of the PHY, cycles.
    stuck_high, stuck_low : bits of all words that are read as 1, or as 0.
    bad : words with such bits of their own: address -> bits that are read flipped.
    silent : nothing ever comes.
    deaf : only the first burst that is written is taken.
    unlocked : the FPGA's delay line never locks.

    Members
    -------
    memory : words, by address: row, then bank, then column.
    commands : how many came, by name.
    delays, slips : of each byte, as they were moved.
    """

    dut: Any
    period_ns: float
    windows: Sequence[Windows] = ({0: (0, 1, 2)}, {0: (0, 1, 2)})
    weak: Sequence[Sequence[int]] = ((), ())
    read_latency: int = 13
    write_latency: int = 3
    stuck_high: int = 0
    stuck_low: int = 0
    bad: dict[int, int] = field(default_factory=dict)
    silent: bool = False
    deaf: bool = False
    unlocked: bool = False

    def __post_init__(self) -> None:
        """Begin to watch the pins."""
        self.memory = np.zeros(1 << 26, np.uint16)
        self.restart()
        self.dut.dfi_locked.value = not self.unlocked
        self._pins = {
            name: [bits_of(getattr(self.dut, f"dfi_p{phase}_{name}")) for phase in range(_PHASES)]
            for name in _PINS
        }
        self._moves = [flag_of(getattr(self.dut, f"dfi_{name}")) for name in _MOVES]
        self._select = bits_of(self.dut.dfi_select)
        self._clear = flag_of(self.dut.dfi_burst_clear)
        self._data = [writer_of(getattr(self.dut, f"dfi_p{n}_rddata")) for n in range(_PHASES)]
        self._valid = [
            writer_of(getattr(self.dut, f"dfi_p{n}_rddata_valid")) for n in range(_PHASES)
        ]
        self._burst = writer_of(self.dut.dfi_burst_seen)
        cocotb.start_soon(self._run())

    def restart(self) -> None:
        """Forget all but what is in memory, as if it had been switched off and on."""
        self.commands = dict.fromkeys(("active", "read", "write", "precharge", "refresh"), 0)
        self.delays, self.slips = [0] * _BYTES, [0] * _BYTES
        self._rows: list[int | None] = [None] * 8
        self._modes: dict[int, int] = {}
        self._calibrated = self._in_reset = False
        self._began = self._cycle = 0
        self._out: dict[int, np.ndarray | None] = {}
        """Words on their way out, by cycle."""
        self._in: dict[int, int] = {}
        """Addresses whose words come, by cycle."""
        self._seen = self._stored = 0

    async def _run(self) -> None:
        edge, shown, burst = FallingEdge(self.dut.clk), False, 0
        chosen, clear, select = self._pins["cs_n"], self._clear, self._select
        for write in (*self._data, *self._valid, self._burst):
            write(0)
        # Before the first edge of the clock registers have any value.
        await RisingEdge(self.dut.clk)
        while True:
            await edge
            self._cycle += 1
            if self._cycle == 2:
                self._in_reset = self._level("reset_n", 0) == self._level("cke", 0) == 0
            if "1" in select():
                self._move(select())
            if clear():
                self._seen = 0
            for phase in range(_PHASES):
                if chosen[phase]() == "0":
                    self._take(phase)
            if self._cycle in self._in:
                self._store(self._in.pop(self._cycle))
            answers = self._cycle in self._out
            if answers:
                self._answer(self._out.pop(self._cycle))
            if answers != shown:
                for write in self._valid:
                    write(answers)
                shown = answers
            if self._seen != burst:
                self._burst(self._seen)
                burst = self._seen

    def _level(self, name: str, phase: int) -> int:
        return int(self._pins[name][phase](), 2)

    def _move(self, select: str) -> None:
        """Move what is selected."""
        delay_reset, delay_next, slip_reset, slip_next = (move() for move in self._moves)
        for byte in range(_BYTES):
            if select[-1 - byte] == "1":
                if delay_reset or delay_next:
                    self.delays[byte] = 0 if delay_reset else (self.delays[byte] + 1) % _DELAYS
                if slip_reset or slip_next:
                    self.slips[byte] = 0 if slip_reset else (self.slips[byte] + 1) % _SLIPS

    def _take(self, phase: int) -> None:
        """Carry out a command."""
        command = int("".join(self._pins[name][phase]() for name in ("ras_n", "cas_n", "we_n")), 2)
        if command == _NOTHING:
            return
        address, bank = self._level("address", phase), self._level("bank", phase)
        assert self._in_reset, "it was not in reset"
        assert self._level("reset_n", phase), "a command in reset"
        assert self._level("cke", phase), "a command without clock"
        if command == _MODE:
            self._modes[bank] = address
        elif command == _CALIBRATE:
            assert {0, 1, 2, 3} <= self._modes.keys(), "calibrated before its modes are set"
            assert address & _ALL, "calibrated for a short time"
            self._calibrated, self._began = True, self._cycle
        else:
            assert self._calibrated, "it was not started"
            self._serve(command, address, bank, phase)

    def _serve(self, command: int, address: int, bank: int, phase: int) -> None:
        """Carry out a command of a memory that was started."""
        if command == _PRECHARGE:
            self.commands["precharge"] += 1
            for one in range(8) if address & _ALL else [bank]:
                self._rows[one] = None
            return
        if command == _REFRESH:
            assert not any(row is not None for row in self._rows), "a refresh of open rows"
            self.commands["refresh"] += 1
            return
        due = (self._cycle - self._began) * self.period_ns / 7812.5 - self.commands["refresh"]
        assert due <= _POSTPONED, f"{due:.1f} refreshes are missing"
        if command == _ACTIVE:
            assert self._rows[bank] is None, "a row is open"
            self.commands["active"] += 1
            self._rows[bank] = address
            return
        assert command in (_READ, _WRITE), f"command {command:03b}"
        self._access(address, bank, phase, write=command == _WRITE)

    def _access(self, address: int, bank: int, phase: int, *, write: bool) -> None:
        row = self._rows[bank]
        assert row is not None, "no row is open"
        assert not address & _WORDS - 1, "a burst that does not begin at its first word"
        cell = (row << 3 | bank) << 10 | address & 1023
        if write:
            latency = 5 + (self._modes[2] >> 3 & 7)
            assert phase + latency == 2 * self.write_latency, "words are written too early or late"
            assert self._level("wrdata_en", phase), "nothing is written"
            self._in[self._cycle + self.write_latency] = cell
        else:
            latency = 4 + (self._modes[0] >> 4 & 7)
            assert not self._modes[0] & 7, "bursts of 4 words"
            assert phase + latency == 2 * (self.read_latency - 10), "words come too early or late"
            assert self._level("rddata_en", phase), "nothing is read"
            words = None if self.silent else self.memory[cell : cell + _WORDS] ^ self._flips(cell)
            self._out[self._cycle + self.read_latency] = words
        self.commands["write" if write else "read"] += 1
        if address & _ALL:
            self._rows[bank] = None

    def _flips(self, cell: int) -> np.ndarray:
        return np.array([self.bad.get(cell + word, 0) for word in range(_WORDS)], np.uint16)

    def _store(self, cell: int) -> None:
        """Take the words that are written, but for bytes that are masked."""
        given = [
            (self._level("wrdata", phase), self._level("wrdata_mask", phase))
            for phase in range(_PHASES)
        ]
        self._stored += 1
        for word in range(0 if self.deaf and self._stored > 1 else _WORDS):
            data, mask = given[word // 4]
            keep = sum(
                255 << 8 * byte for byte in range(_BYTES) if mask >> 2 * (word % 4) + byte & 1
            )
            came = data >> 16 * (word % 4) & 0xFFFF
            self.memory[cell + word] = int(self.memory[cell + word]) & keep | came & ~keep

    def _answer(self, words: np.ndarray | None) -> None:
        """Show words, as the delays have them."""
        if words is None:
            return
        bytes_ = words.astype("<u2").view(np.uint8).reshape(_WORDS, _BYTES).copy()
        for byte, windows in enumerate(self.windows):
            delay, slip = self.delays[byte], self.slips[byte]
            at = [number for number, delays in windows.items() if delay in delays]
            if at and slip not in at:
                bytes_[:, byte] = np.roll(bytes_[:, byte], slip - at[0])
            elif not at:
                bytes_[(delay + slip) % _WORDS, byte] ^= 1 << (3 * delay + slip + byte) % 8
            near = any({delay - 1, delay, delay + 1} & {*delays} for delays in windows.values())
            self._seen |= (near and delay not in self.weak[byte]) << byte
        all_ = bytes_.reshape(-1).view("<u2")
        all_ = (all_ | np.uint16(self.stuck_high)) & np.uint16(~self.stuck_low & 0xFFFF)
        for phase in range(_PHASES):
            self._data[phase](int.from_bytes(all_[4 * phase : 4 * phase + 4].tobytes(), "little"))
