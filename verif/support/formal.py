"""Proofs by Yosys and ABC: an output that is 1 for all inputs, or in all cycles."""

from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from amaranth import ClockDomain, ClockSignal, Module, ResetSignal, Signal, Value
from amaranth.back import rtlil  # type: ignore[attr-defined]

from hw.device import models_of
from hw.emit import yosys

__all__ = ["holds", "never"]


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


def never(m: Module, bad: Value, inputs: Mapping[str, Value], *, seconds: int = 100) -> bool:
    """Decide whether a bit stays 0 from reset on, whatever inputs are, and with resets at any time.

    By property-directed reachability: what is proven holds for ever.

    Parameters
    ----------
    m : all of it, in the domain `sync`.
    inputs : those of it, by name.
    seconds : after which it is given up, which is an error.
    """
    m.domains.sync = ClockDomain("sync")
    wrong = Signal()
    m.d.comb += wrong.eq(bad)
    ports: dict[str, tuple[Value, None]] = {name: (value, None) for name, value in inputs.items()}
    ports |= {"clk": (ClockSignal(), None), "rst": (ResetSignal(), None), "wrong": (wrong, None)}
    with TemporaryDirectory() as folder:
        text = rtlil.convert(m, name="claim", ports=ports, emit_src=False)
        (Path(folder) / "claim.il").write_text(text)
        yosys.run(
            "read_rtlil claim.il\nhierarchy -top claim\nproc\nflatten\nmemory_collect\n"
            "memory_map\nopt -full\ntechmap\nopt -full\ndffunmap\nsetundef -zero -undriven\n"
            "aigmap\nopt_clean\nwrite_aiger -zinit claim.aig",
            cwd=folder,
        )
        proven = yosys.never("claim.aig", seconds, cwd=folder, patience=3 * seconds)
    assert proven is not None, f"not decided within {seconds} s"
    return proven
