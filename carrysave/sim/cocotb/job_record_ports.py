"""Not a test but a job: send operands without a stall, write what every port does to ports.npz."""

import functools
from typing import Any

import cocotb
import numpy as np
from cocotb.triggers import FallingEdge

from carrysave.sim.cocotb.engine_driver import EngineDriver, product_of
from carrysave.sim.cocotb.npe_driver import NpeDriver
from carrysave.sim.cocotb.npe_tiles import Tile, compare
from carrysave.sim.cocotb.streams import (
    Sink,
    Source,
    cycle,
    deadline,
    pack,
    reset,
    start_clock,
    unpack,
)
from carrysave.sim.parameters import bench_spec
from carrysave.sim.tiling import Tiles, tile_beats
from golden.engine import EngineSpec
from golden.npe.lane import LaneSpec
from golden.npe.lane_sums import lane_sums
from golden.npe.npe import NpeSpec
from golden.npe.npe import pack as pack_words
from golden.pe.mac import MacSpec, mac


class Recorder:
    """Ports of the design in every cycle, taken where the clock is low and all has settled."""

    def __init__(self, dut: Any) -> None:
        self.ports = {port._name: port for port in dut if port._name.startswith(("i_", "o_"))}
        self.ports["rst"] = dut.rst
        self.values: dict[str, list[int]] = {name: [] for name in self.ports}
        self.clk = dut.clk
        self.first = 0

    async def run(self) -> None:
        """Sample all ports in every cycle."""
        await FallingEdge(self.clk)
        self.first = cycle()
        while True:
            for name, port in self.ports.items():
                self.values[name].append(int(port.value))
            await FallingEdge(self.clk)

    def bits(self) -> dict[str, np.ndarray]:
        """Return cycles x bits of every port, bit 0 first."""
        ports = {}
        for name, values in self.values.items():
            width = len(self.ports[name])
            size = -(-width // 8)
            octets = b"".join(value.to_bytes(size, "little") for value in values)
            rows = np.frombuffer(octets, np.uint8).reshape(len(values), size)
            ports[name] = np.unpackbits(rows, axis=1, bitorder="little")[:, :width]
        return ports


@cocotb.test
async def record(dut: Any) -> None:
    """Run the sums of operands.npz, check them, and record."""
    spec = bench_spec()
    operands = np.load("operands.npz")
    recorder = Recorder(dut)
    if isinstance(spec, EngineSpec):
        send = functools.partial(_engine, EngineDriver(dut, spec))
    elif isinstance(spec, NpeSpec):
        send = functools.partial(_npe, NpeDriver(dut, spec, np.random.default_rng(1)))
    elif isinstance(spec, LaneSpec):
        fields = ["a", "b", "a_format", "b_format", "last"]
        send = functools.partial(_lane, dut, Source(dut, "i", fields))
    else:
        send = functools.partial(_pe, dut, Source(dut, "i", ["a", "b", "last"]))
    await start_clock(dut)
    cocotb.start_soon(recorder.run())
    await reset(dut)
    starts = await send(spec, operands)
    # A transfer at one rising edge is what the ports were at the falling edge before.
    ports: dict[str, Any] = recorder.bits()
    np.savez("ports.npz", starts=np.array(starts) - recorder.first - 1, **ports)


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
    expected = np.concatenate([product_of(spec)(spec, a, b) for a, b in tiles])
    assert np.array_equal(engine.rows(), expected)
    return [engine.a.cycles[low] for low, _ in _spans(np.array(lengths))]


async def _npe(engine: NpeDriver, spec: NpeSpec, operands: Any) -> list[int]:
    """Send all tiles in their formats; return the cycle of each tile's first transfer."""
    pair = int(operands["pair"][0]), int(operands["pair"][1])
    lengths = operands["lengths"]
    tiles = [
        Tile(operands["a"][i:j].reshape(spec.m, -1), operands["b"][x:y].reshape(-1, spec.n), pair)
        for (i, j), (x, y) in zip(_spans(lengths * spec.m), _spans(lengths * spec.n), strict=True)
    ]
    words = [pack_words(spec, *tile[:2], *pair) for tile in tiles]
    beats = np.array([b.shape[0] for _, b in words])
    a, b = np.concatenate([a.T for a, _ in words]), np.concatenate([b for _, b in words])
    engine.send_job(Tiles((spec.m, spec.n), beats, a, b), pair)
    patience = 100 * int(beats.sum()) + 100 * len(tiles) * (spec.m + spec.n) + 10_000
    await deadline(engine.take(len(tiles)), patience, "rows of C")
    compare(spec, tiles, engine.rows())
    return [engine.a.cycles[low] for low, _ in _spans(beats)]


async def _lane(dut: Any, source: Source, spec: LaneSpec, operands: Any) -> list[int]:
    """Send all sums in their formats; return the cycle of each sum's first transfer."""
    pair = int(operands["pair"][0]), int(operands["pair"][1])
    spans, pitch = _spans(operands["lengths"]), spec.pitch(*pair)
    words = [
        np.concatenate([spec.pack(operands[name][low:high], index, pitch) for low, high in spans])
        for name, index in zip("ab", pair, strict=True)
    ]
    beats = _spans(-(-operands["lengths"] // spec.codes(*pair)))
    last = np.zeros(len(words[0]), bool)
    last[[high - 1 for _, high in beats]] = True
    columns = [*(word.tolist() for word in words), last.astype(int).tolist()]
    sink = Sink(dut, "o", [name for name in ("sum", "carry") if hasattr(dut, f"o_{name}")])
    source.send([(a, b, *pair, end) for a, b, end in zip(*columns, strict=True)])
    await deadline(sink.take(len(spans)), 100 * len(last) + 10_000, "sums")
    parts = [[int(value, 2) for value in values] for values in sink.pop()]
    sums = [sum(rows) % (1 << spec.accumulator_width) for rows in zip(*parts, strict=True)]
    expected, _, _ = lane_sums(spec, words[0], words[1], pair[0], pair[1], last)
    assert sums == [int(value) % (1 << spec.accumulator_width) for value in expected]
    return [source.cycles[low] for low, _ in beats]


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
