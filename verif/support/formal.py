"""Proofs by Yosys's SAT solver: an output that is 1 for all inputs."""

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from amaranth import ClockDomain, ClockSignal, Module, Signal, Value
from amaranth.back import rtlil  # type: ignore[attr-defined]

from hw.device import models_of
from hw.emit import yosys

__all__ = ["holds"]


def holds(build: Callable[..., Value], *widths: int, cycles: int = 0) -> bool:
    """Decide whether `build(m, x, y, ...)` is 1 for all values of inputs of these widths.

    `build` adds logic to the module `m` and returns one bit. It counts after so many clock
    `cycles`, from any state of the registers and with any inputs in each. Blocks of devices are
    their models.
    """
    m = Module()
    m.domains.sync = ClockDomain("sync", reset_less=True)
    inputs = [Signal(width, name=f"x{number}") for number, width in enumerate(widths)]
    ok = Signal()
    m.d.comb += ok.eq(build(m, *inputs))
    ports: dict[str, tuple[Value, None]] = {signal.name: (signal, None) for signal in (*inputs, ok)}
    ports["clk"] = (ClockSignal(), None)
    with TemporaryDirectory() as folder:
        text = rtlil.convert(m, name="claim", ports=ports, emit_src=False)
        (Path(folder) / "claim.il").write_text(text)
        models = "".join(f"read_verilog {path}\n" for path in models_of(text))
        log = yosys.run(
            f"{models}read_rtlil claim.il\nhierarchy -top claim\n"
            "proc\nflatten\nmemory\nsetattr -unset init w:*\nopt -full\n"
            "techmap\nopt -full\n"
            f"sat -seq {cycles + 1} -prove-skip {cycles} -prove ok 1 claim",
            cwd=folder,
        )
    proven = "SAT proof finished - no model found: SUCCESS!" in log
    refuted = "SAT proof finished - model found: FAIL!" in log
    assert proven != refuted, log
    return proven
