"""Write Verilog of an engine behind codes of a table, to be mapped by `carrysave synth --verilog`.

Figures: docs/figures/coprocessor.md. Of each kind of table there are two registers of B, with the
table between them, in front of `adder_tree(m=2,n=2,k=4)`.
"""

import argparse
from dataclasses import replace
from pathlib import Path

from amaranth import Cat, ClockDomain, ClockSignal, Module, Signal, Value
from amaranth.back import rtlil  # type: ignore[attr-defined]

from golden.lut.expander import CODEBOOKS
from hw.catalog import Design
from hw.emit import yosys
from hw.emit.verilog import Emission
from hw.soc.path.expander import expand

_ENGINE = Design("adder_tree", {"m": 2, "n": 2, "k": 4})
_BITS = {"none": 8, "nf4": 4, "job16": 4, "mirror16": 4, "job8": 3}
"""Bits of a code, of each kind."""
_CODES = 8
"""Codes of B in a beat."""
_ENTRY = 8
"""Bits of a number in a table."""


def _table_bits(kind: str) -> int:
    """Return the bits of a job's table; 0 if there is none."""
    spec = CODEBOOKS.get(kind)
    return 0 if spec is None else spec.table_bytes * (_ENTRY - spec.mirrored)


def front(kind: str) -> str:
    """Return the Verilog of the registers and the table; those of a job are in flip-flops."""
    bits = _BITS[kind]
    m = Module()
    m.domains.sync = ClockDomain("sync", reset_less=True)
    codes, late = Signal(_CODES * bits, name="codes"), Signal(_CODES * bits, reset_less=True)
    words = Signal(_CODES * _ENTRY, name="words", reset_less=True)
    entries = Signal(_table_bits(kind), name="entries")
    ports: dict[str, tuple[Value, None]] = {
        "clk": (ClockSignal(), None),
        "codes": (codes, None),
        "words": (words, None),
    }
    m.d.sync += late.eq(codes)
    made: list[Value] = [late.word_select(place, bits) for place in range(_CODES)]
    if kind != "none":
        spec = replace(CODEBOOKS[kind], bits=bits, deep=1)
        held = Signal(len(entries), reset_less=True)
        if spec.table is None:
            m.d.sync += held.eq(entries)
            ports["entries"] = (entries, None)
        made = [
            expand(m, code, spec, _ENTRY, held, f"number{place}") for place, code in enumerate(made)
        ]
    m.d.sync += words.eq(Cat(made))
    return yosys.verilog_of_rtlil(rtlil.convert(m, name="front", ports=ports, emit_src=False))


def wrapped(kind: str, engine: Emission) -> str:
    """Return the Verilog of a top that has both."""
    of_b = [port for port in engine.ports if port["name"].startswith("i_b") and port["width"] > 1]
    others = [port for port in engine.ports if port not in of_b]
    ports = [f"{port['direction']} [{port['width'] - 1}:0] {port['name']}" for port in others]
    ports.append(f"input [{_CODES * _BITS[kind] - 1}:0] codes")
    table = ""
    if bits := _table_bits(kind):
        ports.append(f"input [{bits - 1}:0] entries")
        table = ", .entries(entries)"
    wires, at = [f".{port['name']}({port['name']})" for port in others], 0
    for port in of_b:
        wires.append(f".{port['name']}(words[{at + port['width'] - 1}:{at}])")
        at += port["width"]
    return (
        f"module top_{kind}({', '.join(ports)});\n"
        f"  wire [{_CODES * _ENTRY - 1}:0] words;\n"
        f"  front table_of(.clk(clk), .codes(codes), .words(words){table});\n"
        f"  {_ENGINE.module} engine({', '.join(wires)});\n"
        "endmodule\n"
    )


def main() -> None:
    """Write all files, and say what maps each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("build/codebook"))
    folder = parser.parse_args().output
    folder.mkdir(parents=True, exist_ok=True)
    engine = Emission(_ENGINE)
    (folder / "engine.v").write_text(engine.verilog)
    for kind in _BITS:
        (folder / f"{kind}.v").write_text(front(kind) + wrapped(kind, engine))
        print(
            f"carrysave synth --verilog {folder / kind}.v {folder / 'engine.v'} --top top_{kind}"
            " --operations 32 --activity none --liberty sky130_fd_sc_hd__tt_025C_1v80.lib"
        )


if __name__ == "__main__":
    main()
