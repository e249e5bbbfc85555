"""README of a pack: the block, its connections, first commands for each tool."""

from carrysave.driver_modes import element_formats
from carrysave.ip import drivers, licences, readme_streams, readme_tables
from carrysave.ip.facts import Facts
from carrysave.ip.litex import CLASS
from carrysave.ip.templates import fill
from hw.soc.registers.rdl import MAP

__all__ = ["write"]


def write(block: Facts) -> str:
    """Write it in Markdown."""
    spec, inside = block.spec, block.spec.inside
    integers = f"{'' if inside.signed else 'u'}int{inside.sum_width}"
    streams = readme_streams.facts(block) if spec.STREAM else {}
    return fill(
        "README.md",
        **drivers.facts(block),
        **streams,
        command=_command(block),
        formats=", ".join(f"{number} {name}" for number, name in enumerate(element_formats(spec))),
        sums="fp32" if inside.block else integers,
        k_max=f"{min(mode.k_max for mode in inside.modes.values()):,}",
        throughput=_throughput(block),
        ports=readme_tables.ports(block),
        registers=readme_tables.registers(block),
        errors=readme_tables.errors(block),
        licences=readme_tables.table(("files", "terms", "why"), licences.table(block.docs)),
        map=MAP,
        litex=CLASS,
        period=f"{block.period_ns:g}",
        outside=f"{block.outside:.0%}",
    )


def _command(block: Facts) -> str:
    """Return the command that makes this pack."""
    values = [f"-p '{key}={value}'" for key, value in block.design.changed.items()]
    return " ".join(["carrysave generate", block.design.name, *values])


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
