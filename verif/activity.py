"""Not a test but a job: send operands without a stall, write what every port does to ports.npz."""

import functools
from typing import Any

import cocotb
import numpy as np
from cocotb.triggers import FallingEdge

from golden.engine import EngineSpec, matmul
from golden.pe.mac import MacSpec, mac
from verif.streams import (
    Sink,
    Source,
    bench_spec,
    cycle,
    deadline,
    pack,
    reset,
    start_clock,
    unpack,
)
from verif.tpe.engine import EngineDriver
from verif.tpe.tiling import tile_beats


class Recorder:
    """Ports of the design in every cycle, taken where the clock is low and all has settled."""

    def __init__(self, dut: Any) -> None:
        self.ports = {port._name: port for port in dut if port._name.startswith(("i_", "o_"))}
        self.ports["rst"] = dut.rst
        self.values: dict[str, list[int]] = {name: [] for name in self.ports}
        self.clk = dut.clk
        self.first = 0

    async def run(self) -> None:
        await FallingEdge(self.clk)
        self.first = cycle()
        while True:
            for name, port in self.ports.items():
                self.values[name].append(int(port.value))
            await FallingEdge(self.clk)

    def bits(self) -> dict[str, np.ndarray]:
        """Return cycles x bits of every port, bit 0 first."""
        found = {}
        for name, values in self.values.items():
            width = len(self.ports[name])
            size = -(-width // 8)
            octets = b"".join(value.to_bytes(size, "little") for value in values)
            rows = np.frombuffer(octets, np.uint8).reshape(len(values), size)
            found[name] = np.unpackbits(rows, axis=1, bitorder="little")[:, :width]
        return found


@cocotb.test
async def record(dut: Any) -> None:
    """Run the sums of operands.npz, check them, and record."""
    spec = bench_spec()
    operands = np.load("operands.npz")
    recorder = Recorder(dut)
    if isinstance(spec, EngineSpec):
        send = functools.partial(_engine, EngineDriver(dut, spec))
    else:
        send = functools.partial(_pe, dut, Source(dut, "i", ["a", "b", "last"]))
    await start_clock(dut)
    cocotb.start_soon(recorder.run())
    await reset(dut)
    starts = await send(spec, operands)
    # A transfer at one rising edge is what the ports were at the falling edge before.
    found: dict[str, Any] = recorder.bits()
    np.savez("ports.npz", starts=np.array(starts) - recorder.first - 1, **found)


async def _engine(engine: EngineDriver, spec: Any, operands: Any) -> list[int]:
    """Send all tiles; return the cycle of each tile's first transfer."""
    tiles = [
        (operands["a"][low:high].reshape(spec.m, -1), operands["b"][x:y].reshape(-1, spec.n))
        for (low, high), (x, y) in zip(
            _spans(operands["lengths"] * spec.m), _spans(operands["lengths"] * spec.n), strict=True
        )
    ]
    beats = [tile_beats(spec, a, b) for a, b in tiles]
    lengths = [len(a) for a, _ in beats]
    engine.send_a(np.concatenate([a for a, _ in beats]), lengths)
    engine.send_b(np.concatenate([b for _, b in beats]))
    patience = 100 * sum(lengths) + 100 * len(tiles) * (spec.m + spec.n) + 10_000
    await deadline(engine.take(len(tiles)), patience, "rows of C")
    assert np.array_equal(engine.rows(), np.concatenate([matmul(spec, a, b) for a, b in tiles]))
    return [engine.a.cycles[low] for low, _ in _spans(np.array(lengths))]


async def _pe(dut: Any, source: Source, spec: Any, operands: Any) -> list[int]:
    """Send all sums; return the cycle of each sum's first transfer."""
    a, b, lengths = operands["a"], operands["b"], operands["lengths"]
    assert not (lengths % spec.k).any()
    spans = _spans(lengths // spec.k)
    a, b = a.reshape(-1, spec.k), b.reshape(-1, spec.k)
    last = np.zeros(len(a), bool)
    last[[high - 1 for _, high in spans]] = True
    columns = [pack(spec.a_patterns(a), spec.a_code_width), pack(b, spec.b_width)]
    rows = [port._name for port in dut if port._name.startswith("o_")]
    fields = [name[2:] for name in rows if name not in ("o_valid", "o_ready")]
    sink = Sink(dut, "o", fields)
    source.send(list(zip(*columns, last.astype(int).tolist(), strict=True)))
    await deadline(sink.take(len(lengths)), 100 * a.size + 10_000, "sums")
    if isinstance(spec, MacSpec):
        parts = [unpack(values, spec.sum_format) for values in sink.pop()]
        sums = spec.sum_format.wrap(sum(parts[1:], parts[0])).reshape(-1)
        assert np.array_equal(sums, mac(spec, a, b, last))
    return [source.cycles[low] for low, _ in spans]


def _spans(lengths: np.ndarray) -> list[tuple[int, int]]:
    """Return where each of the runs begins and ends."""
    ends = np.cumsum(lengths).tolist()
    return list(zip([0, *ends[:-1]], ends, strict=True))
