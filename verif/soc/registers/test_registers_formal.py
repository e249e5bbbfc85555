"""Proofs about the co-processor's registers: for any inputs, for ever, from power-up on."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from amaranth import Cat, ClockDomain, ClockSignal, Const, Module, ResetSignal, Signal, Value
from amaranth.back import rtlil  # type: ignore[attr-defined]
from amaranth.lib.wiring import In

from hw.emit import yosys
from hw.soc.bus.axi_lite import AxiLiteSlave
from hw.soc.registers.coprocessor import Registers
from verif.soc.registers.bench import BUILD

OKAY, SLVERR = 0, 2


class Claims:
    """A component with any inputs, and for each claim a bit that must be 1."""

    def __init__(self, dut: Any) -> None:
        self.m = Module()
        self.m.domains.sync = ClockDomain("sync")
        self.m.submodules.dut = self.dut = dut
        self.rst = ResetSignal()
        self.started = Signal(reset_less=True)
        self.m.d.sync += self.started.eq(1)
        self.quiet = ~self.past(self.rst)
        self.bits: dict[str, Signal] = {}

    def past(self, value: Any) -> Value:
        """Return what a value was a cycle ago."""
        value = Value.cast(value)
        before = Signal(len(value), reset_less=True)
        self.m.d.sync += before.eq(value)
        return before

    def claim(self, name: str, condition: Any, then: Any) -> None:
        """Claim that `condition`, of this and the last cycle, implies `then`."""
        self.bits[name] = bit = Signal(name=name)
        self.m.d.comb += bit.eq(~self.started | ~condition | then)

    def owed(self, given: Value, taken: Value) -> Value:
        """Count what was given and not yet taken; wraps around, so that nothing hides."""
        count = Signal(3)
        self.m.d.sync += count.eq(count + given - taken)
        return count

    def refuted(self) -> list[str]:
        """Try to prove all claims at once, by induction; return those that fail first."""
        names = list(self.bits)
        holds = Signal()
        self.m.d.comb += holds.eq(Cat(self.bits.values()).all())
        ports: dict[str, tuple[Value, None]] = {
            "clk": (ClockSignal(), None),
            "rst": (self.rst, None),
            "holds": (holds, None),
            **{name: (bit, None) for name, bit in self.bits.items()},
        }
        for path, member, value in self.dut.signature.flatten(self.dut):
            if member.flow == In:
                ports["_".join(map(str, path))] = (Value.cast(value), None)
        script = [
            "read_rtlil claims.il",
            "proc -norom",
            "flatten",
            "memory_collect",
            "setparam -set INIT 1'x a:carrysave_uninitialised",
            "memory_map",
            "opt -full",
            "techmap",
            "opt -full",
            "dffunmap",
            "opt_clean",
            "sat -tempinduct -maxsteps 4 -prove holds 1 -show-ports claims",
        ]
        with TemporaryDirectory() as folder:
            text = rtlil.convert(self.m, name="claims", ports=ports, emit_src=False)
            (Path(folder) / "claims.il").write_text(text)
            log = yosys.run("\n".join(script), cwd=folder)
        if "Induction step proven: SUCCESS!" in log:
            return []
        last = {}
        for line in log.splitlines():
            words = line.split()
            if len(words) == 5 and words[1].startswith("\\"):
                last[words[1][1:]] = words[-1]
        return [name for name in names if last.get(name) == "0"] or [log]


def test_axi_lite_slave_answers_each_request_once() -> None:
    claims = Claims(AxiLiteSlave(9))
    axi, bus = claims.dut.s_axi, claims.dut.registers
    past, quiet, claim, always = claims.past, claims.quiet, claims.claim, Const(1)
    b_taken, r_taken = axi.bvalid & axi.bready, axi.rvalid & axi.rready
    hold = claims.dut.i_hold
    b, r = Cat(axi.bvalid, axi.bresp), Cat(axi.rvalid, axi.rresp, axi.rdata)
    claim("b_waits", quiet & past(axi.bvalid & ~axi.bready), b == past(b))
    claim("r_waits", quiet & past(axi.rvalid & ~axi.rready), r == past(r))

    # The entry keeps a request while it is not ready; the response is that of one before.
    aw = claims.owed(axi.awvalid & axi.awready, b_taken)
    w = claims.owed(axi.wvalid & axi.wready, b_taken)
    ar = claims.owed(axi.arvalid & axi.arready, r_taken)
    claim("b_answers_an_address", always, aw == ~axi.awready + axi.bvalid)
    claim("b_answers_data", always, w == ~axi.wready + axi.bvalid)
    reading = axi.rvalid | (quiet & past(bus.read))
    claim("r_answers_an_address", always, ar == reading)
    claim("it_takes_the_next", always, axi.arready == ~(reading | hold))
    claim("reads_wait_for_no_write", quiet & past((ar != 0) & ~axi.rvalid), axi.rvalid)
    claim("b_comes", quiet & past((aw != 0) & (w != 0) & ~axi.bvalid & ~hold), axi.bvalid)
    claim("it_holds", hold, ~bus.write & ~bus.read)
    claim("b_is_one_write", always, claims.owed(bus.write, b_taken) == axi.bvalid)
    claim("r_is_one_read", always, claims.owed(bus.read, r_taken) == reading)

    # What was asked is what is done, and what comes of it is answered.
    for name, given, value, done in (
        ("aw", axi.awvalid & axi.awready, axi.awaddr[2:], bus.write_address),
        (
            "w",
            axi.wvalid & axi.wready,
            Cat(axi.wdata, axi.wstrb),
            Cat(bus.write_data, bus.write_strobe),
        ),
    ):
        kept = Signal(len(value), name=f"{name}_kept")
        with claims.m.If(given):
            claims.m.d.sync += kept.eq(value)
        claim(f"{name}_is_done", ~getattr(axi, f"{name}ready"), done == kept)
    claim("w_is_there", bus.write, ~axi.awready & ~axi.wready)
    claim("ar_is_done", bus.read, bus.read_address == axi.araddr[2:])
    expected = past(Cat(Const(0, 1), bus.write_error))
    claim("b_is_the_answer", quiet & past(bus.write), axi.bresp == expected)
    expected = past(Cat(Const(0, 1), bus.read_error, bus.read_data))
    asked = quiet & past(bus.read)
    claim("r_is_the_answer", quiet & past(asked), Cat(axi.rresp, axi.rdata) == expected)
    ready = axi.awready & axi.wready & (axi.arready == ~hold)
    claim("reset_is_silent", ~quiet, ~axi.bvalid & ~axi.rvalid & ready)
    assert claims.refuted() == []


@pytest.mark.prove
def test_registers_change_only_as_they_should() -> None:
    claims = Claims(Registers(BUILD))
    dut, file = claims.dut, claims.dut.file
    bus, past, claim = file.bus, claims.past, claims.claim
    quiet = claims.quiet & ~past(file.restart | file.restart_locked)
    stored = {
        field.name: getattr(file, field.name)
        for field in file.fields
        if field.kind == "stored" and hasattr(file, field.name)
    }
    before = {name: past(value) for name, value in stored.items()}
    same = {name: before[name] == value for name, value in stored.items()}
    read, write = past(bus.read) & ~bus.read_error, past(bus.write & ~bus.write_error)

    # Reports change some registers, reads of CTRL others; nothing but a write changes the rest.
    arguments = [name for name in stored if name.startswith(("job_", "ring_"))]
    # Any part of the job, in memory.
    sweeps = file.o_sweeps
    part_same = (past(dut.i_part) != dut.i_part) | (past(dut.o_part) == dut.o_part) | past(sweeps)
    same["part"] = part_same
    constant = Cat(
        same[name] for name in (*arguments, "part", "gier_enable", "ier_done", "ier_error")
    )
    claim("only_writes_configure", quiet & ~write, constant.all())
    reports = Cat(dut.i_done, dut.i_error.valid, dut.i_invalid, dut.i_ready, dut.o_reset)
    still = quiet & past(~reports.any())
    claim("nothing_changes_by_itself", still & ~read & ~write, Cat(same.values()).all())
    busy = dut.o_start | ~dut.i_idle | dut.o_reset
    kept = Cat(same[name] for name in (*arguments, "part")).all()
    claim("ignored_is_told", quiet & past(file.refused), file.error_ignored)

    starts = bus.write & (bus.write_address == 0) & bus.write_strobe[0] & bus.write_data[0]
    claim("only_a_write_starts", dut.o_start & ~past(dut.o_start), past(starts | sweeps))
    waits = past(dut.o_start & ~dut.i_ready) & ~dut.o_reset
    claim("start_waits", claims.quiet & waits, dut.o_start)
    claim("start_is_taken_once", past(dut.o_start & dut.i_ready & ~starts), ~dut.o_start)
    claim("reset_lasts", claims.quiet & past(dut.o_reset & ~dut.i_reset_done), dut.o_reset)
    soon = [name for name in stored if name not in {"ctrl_reset", *arguments}]
    begins, ends = dut.o_reset & ~past(dut.o_reset), dut.o_reset & dut.i_reset_done
    claim("reset_clears_at_its_begin", past(begins), ~Cat(stored[name] for name in soon).any())
    claim("reset_clears_at_its_end", past(ends), ~Cat(stored[name] for name in arguments).any())
    claim("reset_sweeps_the_job", past(ends) | ~claims.quiet, sweeps)
    claim("sweeps_alone", sweeps, ~bus.write & ~bus.read & ~dut.o_start)
    hits = bus.write & ~busy & (bus.write_address == 4 + 2 * dut.i_part)
    for byte in range(4):
        bits = slice(8 * byte, 8 * byte + 8)
        here = past(dut.i_part) == dut.i_part
        new = past(bus.write_data[bits])
        # The two words of addresses alone, all of whose bits are kept.
        claim(
            f"byte{byte}_is_written",
            quiet & past(hits & bus.write_strobe[byte]) & here & (dut.i_part < 7),
            dut.o_part[bits] == new,
        )
        claim(
            f"byte{byte}_is_kept",
            quiet & past(hits & ~bus.write_strobe[byte]) & here,
            dut.o_part[bits] == past(dut.o_part[bits]),
        )
    claim("busy_keeps_the_job", claims.quiet & past(busy & ~ends), kept)

    counts = quiet & past(~dut.o_reset)
    claim("done_is_kept", counts & past(dut.i_done), file.isr_done & file.ctrl_done)
    claim("error_is_kept", counts & past(dut.i_error.valid), file.isr_error)
    claim("invalid_is_kept", counts & past(dut.i_invalid), file.error_invalid)
    control = past(bus.read & (bus.read_address == 0))
    claim("only_a_read_clears_done", quiet & past(file.ctrl_done) & ~control, file.ctrl_done)
    status = (file.isr_done & file.ier_done) | (file.isr_error & file.ier_error)
    claim("interrupt", claims.quiet, dut.o_interrupt == past(file.gier_enable & status))
    assert claims.refuted() == []
