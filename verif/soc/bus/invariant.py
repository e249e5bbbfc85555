"""Proofs about components with state: an output that is 1 in every cycle from reset on."""

from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from amaranth import ClockDomain, ClockSignal, Module, Signal, Value
from amaranth.back import rtlil  # type: ignore[attr-defined]
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from hw.emit import yosys
from hw.lib.fifo import Fifo

__all__ = ["always", "say_their_levels"]

Claim = Callable[[Module], tuple[Value, Value]]


def always(
    dut: wiring.Component, claim: Claim, *, cycles: int, same: Mapping[str, Value] | None = None
) -> bool:
    """Decide whether a claim holds in every cycle, whatever the inputs are.

    Parameters
    ----------
    dut : the component; a submodule of what `claim` is given.
    claim : adds logic to a module, and returns what shall hold, and what is assumed of inputs.
    cycles : most steps of the induction.
    same : what registers inside the component, by name from there, hold in every cycle too; the
        claims of an induction may rest on that.
    """
    m = Module()
    m.domains.sync = ClockDomain("sync", reset_less=True)
    m.submodules.dut = dut
    ok, legal = Signal(), Signal()
    for port, value in zip((ok, legal), claim(m), strict=True):
        m.d.comb += port.eq(value)
    ports: dict[str, tuple[Value, None]] = {
        "__".join(map(str, path)): (Value.cast(value), None)
        for path, member, value in dut.signature.flatten(dut)
        if member.flow == In
    }
    ports |= {"clk": (ClockSignal(), None), "ok": (ok, None), "legal": (legal, None)}
    equal = ""
    for number, (name, value) in enumerate((same or {}).items()):
        port = Signal.like(Value.cast(value), name=f"same{number}")
        m.d.comb += port.eq(value)
        ports[port.name] = (port, None)
        equal += f" -prove dut.{name} {port.name}"
    with TemporaryDirectory() as folder:
        text = rtlil.convert(m, name="claim", ports=ports, emit_src=False)
        (Path(folder) / "claim.il").write_text(text)
        log = yosys.run(
            "read_rtlil claim.il\nproc\nflatten\nmemory_collect\nmemory_map\nopt -full\n"
            f"sat -tempinduct -maxsteps {cycles} -set legal 1 -prove ok 1{equal} claim",
            cwd=folder,
        )
    proven = "Induction step proven: SUCCESS!" in log
    refuted = "model found for base case: FAIL!" in log
    assert proven != refuted, log
    return proven


def say_their_levels(*queues: Fifo) -> list[Value]:
    """Claim what the ends of queues say: that there is an entry, and that there is room."""
    return [
        claim
        for queue in queues
        for claim in (
            queue.o.valid == (queue.o_level != 0),
            queue.i.ready == (queue.o_level != queue.depth),
            queue.o_level <= queue.depth,
        )
    ]
