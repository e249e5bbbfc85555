"""Timing diagram of a design's streams: the first beats of a test of its bench."""

import re
from importlib import import_module
from itertools import pairwise
from pathlib import Path

from carrysave import cache
from carrysave.drawings.sources import digest_of_sources
from carrysave.report import traces, waves
from carrysave.sim import runner
from hw.catalog import Design
from hw.emit import tools
from hw.emit.flat_ports import flat_ports

__all__ = ["bench_tests", "diagram", "drawn"]

_PERIOD = 10.0
"""Of the benches' clock, ns."""
_CYCLES = 30
_TESTS = (
    "test_cycles",
    "test_latency_and_throughput",
    "test_latency",
    "test_cycles_of_data",
    "test_matches_golden",
)
"""Tests that send without stalls, the best first."""


def bench_tests(design: Design) -> dict[str, str]:
    """Return the tests of a design's bench: names, and the first line of each docstring."""
    module = _source(design.entry.bench)
    matches = re.finditer(
        r'^@cocotb\.test.*\n(?:@.*\n)*async def (\w+)\(.*\n(?:    """(.*?)(?:"""|\n))?',
        module,
        re.MULTILINE,
    )
    return {one[1]: one[2] or "" for one in matches}


def _source(name: str) -> str:
    """Return the source of a module without importing it: benches need a running simulator."""
    package, _, last = name.rpartition(".")
    folder = Path(next(iter(import_module(package).__path__)))
    return (folder / f"{last}.py").read_text()


def diagram(design: Design) -> tuple[str, str] | None:
    """Simulate a design, and draw its streams from the first beat on; kept in the cache.

    Returns
    -------
    The test of the bench, and the SVG; None if the design has no streams or its bench no test
    that sends without stalls.
    """
    tests = bench_tests(design)
    test = next((name for name in _TESTS if name in tests), None)
    streams = [
        port.path.removesuffix(".valid")
        for port in flat_ports(design.component())
        if port.path.endswith(".valid")
    ]
    if test is None or not streams:
        return None
    parts = ["timing", design.key, digest_of_sources("hw", "golden", "verif", "carrysave/drawings")]
    return test, cache.remembered("docs", parts, lambda: _simulated(design, test))


def _simulated(design: Design, test: str) -> str:
    """Run one test, and draw what its waves begin with."""
    simulator = "icarus"  # starts sooner
    try:
        tools.find("iverilog")
    except tools.MissingToolError:
        simulator = "verilator"
    with tools.workplace() as folder:
        result = runner.verify(
            design,
            seed=1,
            waves=True,
            tests=rf"\.{test}(/|$)",
            simulator=simulator,
            directory=folder,
        )
        if not result.ok or result.waves is None:
            raise RuntimeError(f"{design.module}: {test} failed: {result.log.read_text()[-2000:]}")
        return drawn(design, result.waves)


def drawn(design: Design, path: Path) -> str:
    """Draw the ports of a design's streams, from a cycle before the first beat on.

    Parameters
    ----------
    path : waves of a run of its bench, VCD.

    Returns
    -------
    SVG with the colours of a page.
    """
    ports = [port for port in flat_ports(design.component()) if "." in port.path]
    names = ["clk", *(port.name for port in ports)]
    valid = [port.name for port in ports if port.inward and port.path.endswith(".valid")]
    whole = {one.name: one for one in traces.read(path, 0, 1e9, ["clk", *valid])}
    edges = [time for time, value in whole["clk"].changes if value == "1"]
    period = min((later - sooner for sooner, later in pairwise(edges)), default=_PERIOD)
    first = min(
        (time for name in valid for time, value in whole[name].changes if value == "1"),
        default=0.0,
    )
    start = max(first - period, 0)
    end = start + _CYCLES * period
    return waves.draw(traces.read(path, start, end, names), start, end, period=period).decode()
