"""README of a pack: the block, its connections, first commands for each tool."""

from carrysave.ip import drivers, licences, readme_streams, readme_tables
from carrysave.ip.facts import OUTSIDE, Facts, capital
from carrysave.ip.litex import CLASS, usage
from golden.engine import EngineSpec
from hw.soc.registers.rdl import MAP

__all__ = ["write"]


def write(block: Facts) -> str:
    """Write it in Markdown."""
    spec, inside = block.spec, block.spec.inside
    clock, reset = (block.interface(kind).name for kind in ("clock", "reset"))
    parameters = readme_tables.table(
        ("parameter", "value", "meaning"),
        [
            (name, f"`{block.design.parameters[name]}`".lower(), kind.doc)
            for name, kind in block.design.entry.parameters.items()
        ],
    )
    return _TEMPLATE.format(
        module=block.module,
        summary=capital(block.design.entry.summary),
        command=_command(block),
        parameters=parameters,
        operands=_operands(block),
        c=_sums(block),
        sum_bytes=spec.sum_bytes,
        codes=_codes(block),
        k_max=f"{min(mode.k_max for mode in inside.modes.values()):,}",
        placing=_STREAMED if spec.STREAM else _PLACED,
        throughput=_throughput(block),
        streams=f"{readme_streams.section(block)}\n" if spec.STREAM else "",
        design=block.design.name,
        clock=clock,
        reset=reset,
        interrupt=block.interface("interrupt").name,
        ports=readme_tables.ports(block),
        registers=readme_tables.registers(block),
        errors=readme_tables.errors(block),
        map=MAP,
        drivers=drivers.files(block),
        start=drivers.start(block),
        system=_SYSTEM_STREAMS if spec.STREAM else _SYSTEM,
        litex=CLASS,
        usage=usage(block),
        window=1 << block.port(block.interface("AXI4LITE").ports["AWADDR"])["width"],
        period=f"{block.period_ns:g}",
        outside=f"{OUTSIDE:.0%}",
        vlnv=f"carrysave::{block.module}",
        licences=readme_tables.table(("files", "terms", "why"), licences.table(block.docs)),
        kinds="C header, HTML, IP-XACT, Python" if block.docs else "C header, IP-XACT, Python",
    )


def _command(block: Facts) -> str:
    """Return the command that makes this pack."""
    entry = block.design.entry
    values = [
        f"-p '{key}={value}'"
        for key, value in block.design.parameters.items()
        if value != entry.parameters[key].default
    ]
    return " ".join(["carrysave generate", block.design.name, *values])


def _operands(block: Facts) -> str:
    """Describe the formats of A and B."""
    spec = block.spec
    if isinstance(spec.engine, EngineSpec):
        return (
            f"A is of {spec.engine.a_format.name} ({spec.a_bits} bits in memory), "
            f"B of {spec.engine.b_format.name} ({spec.b_bits} bits)."
        )
    names = ", ".join(f"{number} {name}" for number, name in enumerate(spec.engine.element.names))
    text = (
        f"`MODE` chooses the formats of A and B among {names}.\nRows of A and B are of words: "
        "codes along K, the first lowest, as many as the wider of the two formats\nhas in "
        f"{spec.inside.a_width} bits, each in 4, 8 or 16 bits of memory."
    )
    if spec.inside.block:
        text += (
            f"\nOf each {spec.inside.block} codes along K, rows of A and columns of B have a scale."
        )
    return text


def _sums(block: Facts) -> str:
    """Describe the sums."""
    inside = block.spec.inside
    if inside.block:
        return "fp32"
    kind = f"{'' if inside.signed else 'u'}int{inside.sum_width}"
    return kind if len(inside.modes) == 1 else f"{kind} of units of the formats' last places"


def _codes(block: Facts) -> str:
    """Describe the formats of C other than sums."""
    spec = block.spec
    if not spec.requantise:
        return ""
    if spec.inside.result is not None:
        return f", or rounded to {spec.inside.result.name}"
    return (
        f", or codes of {spec.requantiser.out_width} bits:\n"
        "`clamp(((x * MULTIPLIER + 2^(SHIFT - 1)) >> SHIFT) + ZERO_POINT, LOW, HIGH)` of a sum x"
        + (", to which a\nbias of its column was added" if spec.bias else "")
    )


def _throughput(block: Facts) -> str:
    """Describe throughput and default blocks."""
    spec, inside = block.spec, block.spec.inside
    gigahertz = 1 / block.period_ns
    products = block.emission.component.operations_per_cycle / 2
    m, n, k = spec.default_blocks()
    rows = [
        ("products per cycle, at most", f"{products:g}"),
        (f"at {block.period_ns:g} ns", f"{products * gigahertz:.4g} GMAC/s"),
        (
            f"bytes per cycle {'of each stream' if spec.STREAM else 'of memory, each way'}",
            f"{spec.bytes}",
        ),
        (f"at {block.period_ns:g} ns", f"{spec.bytes * gigahertz:.4g} GB/s"),
        ("tile of C", f"{inside.m} x {inside.n}"),
        ("words along K per beat", f"{inside.k}"),
        ("default block, M x N x K", f"{m * inside.m} x {n * inside.n} x {k * inside.k}"),
        ("sums per block, at most", f"{spec.sums:,}"),
        ("store of A, of B", f"{spec.PARTS} x {spec.a_bytes:,}, {spec.PARTS} x {spec.b_bytes:,} B"),
    ]
    if not spec.STREAM:
        bursts = f"up to {spec.burst} beats, {spec.outstanding} outstanding each way"
        rows.append(("bursts", bursts))
    return readme_tables.table(("", ""), rows)


_PLACED = """\
Rows start at any byte address, with any stride. Blocks of C are written before all input is read: C
must not overlap A, B, biases, scales or requantisations."""

_STREAMED = "Addresses and strides of a job are ignored; there is no list of jobs."


_SYSTEM = """its registers behind a
SmartConnect, its memory port at the processor's memory by another"""

_SYSTEM_STREAMS = """its registers behind a
SmartConnect, and AXI DMAs on its streams, whose interrupts stay open: `dma_a` of A and of C,
`dma_b` of B"""

_TEMPLATE = """\
# {module}

{summary}. One start computes
C = requantise(A B + bias).

![block diagram](block.svg)

Made by `{command}`.

{parameters}

{operands} C holds sums, {c} in {sum_bytes}
bytes{codes}. K is up to {k_max}.
{placing}

{throughput}

C is computed in blocks; write sizes other than the default to `BLOCK_M`, `BLOCK_N` and
`BLOCK_K`.

## Files

| file | what it is |
| --- | --- |
| `{module}.v` | the block: Verilog-2005, flat ports, one clock; tests verify this file |
| `{module}.json` | manifest: parameters, ports, interfaces, versions |
| `{module}.xml` | IP-XACT component (IEEE 1685-2014): buses, ports, registers, files |
| `{module}.core`, `{module}.f` | FuseSoC core, file list |
| `{module}_litex.py` | LiteX module |
| `constraints/{module}.sdc` | clock of {period} ns, {outside} of it outside of every port |
| `constraints/{module}_ooc.xdc` | clock for Vivado's synthesis out of context |
| `block_design.tcl` | Vivado project of a Zynq with the block in it |
{drivers}| `registers/` | the register map as {kinds} and pyuvm models |
| `licences/` | texts of licences, see below |

## Ports

`{reset}` is sampled by `{clock}`; hold it low for one rising edge or more, and let it rise in step
with `{clock}`. `{interrupt}` stays high until software clears it. No port is asynchronous.

{ports}

{streams}## Registers

{window} bytes, 32-bit words; an address without a register responds with SLVERR. Write a job to
`JOB`, then 1 to `CTRL`; wait for `CTRL.done` or the interrupt; read `ERROR`.

{registers}

## Error codes

{errors}

## First lines to type

carrysave's tests run the files for FuseSoC, LiteX and OpenSTA in these tools. The files for Vivado
follow its documentation, but have not been run in Vivado: tests run `block_design.tcl` in plain Tcl
on a model of Vivado's commands, with every port connected and every address assigned.

Vivado, a project of a Zynq-7000 or a Zynq UltraScale+ with the block, {system}:

```sh
vivado -mode batch -source block_design.tcl -tclargs -part xc7z020clg400-1
vivado -mode batch -source block_design.tcl -tclargs -board BOARD_PART -synthesise 1
```

It prints the address of the registers; matrices must be in the lowest 2 GB of memory.

Vivado, a block design of your own (interfaces come from the attributes in the Verilog):

```tcl
add_files {module}.v
create_bd_cell -type module -reference {module} matmul
```

Vivado, the block alone:

```tcl
read_verilog {module}.v
read_xdc -mode out_of_context constraints/{module}_ooc.xdc
synth_design -top {module} -part xc7z020clg400-1 -mode out_of_context
report_timing_summary
```

Yosys and nextpnr, the block alone:

```sh
yosys -p "read_verilog {module}.v; synth_ecp5 -top {module} -json matmul.json"
nextpnr-ecp5 --85k --package CABGA381 --json matmul.json --out-of-context --freq 50
```

OpenSTA, on a netlist:

```tcl
read_liberty cells.lib
read_verilog netlist.v
link_design {module}
read_sdc constraints/{module}.sdc
report_checks
```

FuseSoC:

```sh
fusesoc library add matmul "$PWD"
fusesoc core show {vlnv}
fusesoc run --target=lint {vlnv}
```

or generated with parameters from your own `.core`: add the folder that
`python3 -c "import carrysave.ip as i; print(*i.__path__)"` prints as a library, depend on
`carrysave:utils:generator`, and

```yaml
generate:
  matmul:
    generator: carrysave
    parameters: {{design: {design}, parameters: {{engine: "systolic_os(m=16,n=16)"}}}}
```

LiteX:

```python
from {module}_litex import {litex}

soc.matmul = {litex}(platform)
region = SoCRegion(origin=0x3000_0000, size=0x1000, cached=False)
{usage}
soc.irq.add("matmul")  # with a CPU
```

{start}C, by the register map alone:

```c
#include "{map}.h"
volatile {map}_t *matmul = (volatile {map}_t *)0x30000000;
```

## Licences

{licences}
"""
