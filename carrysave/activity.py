"""Measures how often the nets of a synthesised design switch.

The design's Verilog is simulated on a stimulus, its results are checked, and what its ports do is
replayed on the netlist with the delays of its gates. Its outputs must be the same in every cycle
that counts.
"""

import io
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from carrysave import digits, paths, simulate
from carrysave.flat import UNKNOWN, Flat, Ids
from carrysave.replay import Switching, Trace, replay
from carrysave.timing import Delays
from golden.engine import EngineSpec
from golden.formats.integer import IntFormat
from hw.catalog import Design
from hw.emit import Emission
from verif.vectors import normal, uniform

__all__ = ["STIMULI", "Activity", "annotated", "assume", "key", "measure", "record"]

STIMULI = {
    "normal": "normal operands, standard deviation 20/128 of full scale",
    "uniform": "uniform operands",
    "digits": "operands of the digits network's layers",
}
ASSUMED = 0.2  # transitions per cycle
LENGTH = 256  # products of a sum
CYCLES = 2048
_WARM_UP = 2  # sums before those that count
_SEED = 1
_FORMAT = 1  # of what is cached; raise it with any change of it

Sum = tuple[NDArray[np.int64], NDArray[np.int64]]  # a, m x K, and b, K x n


@dataclass(frozen=True)
class Activity:
    """What the nets of a netlist do on a stimulus.

    Members
    -------
    annotated : share of the cells' pins whose nets were simulated.
    stimulus : in words.
    cycles : simulated cycles; 0 if the activity is assumed.
    products_per_cycle : multiply-accumulates per cycle; 0 if unknown.
    """

    flat: Flat
    switching: Switching
    annotated: float
    stimulus: str
    cycles: int
    products_per_cycle: float

    @property
    def glitches(self) -> float:
        """Share of the transitions that there would not be without delays."""
        every, functional = self.switching.density.sum(), self.switching.functional.sum()
        return float(1 - functional / every) if every else 0.0

    def describe(self) -> str:
        """Return the activity in words."""
        if not self.cycles:
            return self.stimulus
        return (
            f"{self.stimulus}, {self.cycles} cycles simulated with gate delays: "
            f"{self.switching.density[UNKNOWN + 1 :].mean():.3f} transitions per cycle and net, "
            f"{self.glitches:.0%} of them glitches, {self.annotated:.1%} of the pins annotated"
        )


def measure(design: Design, stimulus: str, flat: Flat, delays: Delays) -> Activity:
    """Measure the activity of a netlist of a design.

    Parameters
    ----------
    stimulus : one of ``STIMULI``.
    delays : of the netlist's cells, in ns.

    Raises
    ------
    ValueError
        If the design cannot take the stimulus.
    RuntimeError
        If the simulation fails; SimulationError if that of the netlist does.
    """
    trace = record(design, stimulus)
    switching, driven = replay(flat, trace, "clk", delays)
    return Activity(
        flat=flat, switching=switching, annotated=annotated(flat, driven),
        stimulus=STIMULI[stimulus], cycles=trace.end - trace.first,
        products_per_cycle=trace.products / (trace.end - trace.first),
    )  # fmt: skip


def assume(flat: Flat, clock: str | None) -> Activity:
    """Return the activity that is assumed where none is measured."""
    density, duty = np.full(flat.nets, ASSUMED), np.full(flat.nets, 0.5)
    density[: UNKNOWN + 1] = 0
    duty[: UNKNOWN + 1] = [0, 1, 0]
    if clock is not None:
        density[flat.port(clock)] = 2
    for name, module in flat.modules.items():
        for group in module.groups:
            if group.cell.gate:
                density[flat.nets_of[name][:, group.pins[group.cell.gate["out"]]]] = 2
    words = f"{ASSUMED:g} transitions per cycle assumed on every net, 2 on clocks"
    return Activity(
        flat=flat, switching=Switching(density, density, duty), annotated=1.0, stimulus=words,
        cycles=0, products_per_cycle=0.0,
    )  # fmt: skip


def record(design: Design, stimulus: str) -> Trace:
    """Simulate a design's Verilog on a stimulus, everything flowing; cached by content."""
    sums, path = _job(design, stimulus)
    if not path.exists():
        operands = _pack(sums)
        with TemporaryDirectory() as name:
            folder = Path(name)
            source = paths.write(folder / f"{design.module}.v", Emission(design).verilog)
            paths.write(folder / "run" / "operands.npz", operands)
            result = simulate.run(
                simulate.build([source], design.module), "verif.activity", seed=_SEED,
                parameters=simulate.bench_parameters(design), directory=folder / "run",
            )  # fmt: skip
            if not result.ok:
                log = paths.write(path.with_suffix(".log"), result.log.read_bytes())
                raise RuntimeError(f"no activity: {', '.join(result.failed)}; see {log}")
            with np.load(folder / "run" / "ports.npz") as found:
                packed = io.BytesIO()
                np.savez_compressed(packed, **found)
        paths.write(path, packed.getvalue())
    with np.load(path) as found:
        ports = dict(found)
    starts = ports.pop("starts")
    products = sum(a.shape[0] * a.shape[1] * b.shape[1] for a, b in sums[_WARM_UP:-1])
    return Trace(
        ports=ports, first=int(starts[_WARM_UP]), end=int(starts[-1]), products=products
    )  # fmt: skip


def key(design: Design, stimulus: str) -> str:
    """Return what a measured activity of a design depends on, the netlist apart."""
    return _job(design, stimulus)[1].name


def _job(design: Design, stimulus: str) -> tuple[list[Sum], Path]:
    """Return the operands, and the file that what the ports do is kept in."""
    spec = design.spec
    m, n = (spec.m, spec.n) if isinstance(spec, EngineSpec) else (1, 1)
    longest = spec.depth if isinstance(spec, EngineSpec) else LENGTH
    sums = _operands(spec.a_format, spec.b_format, stimulus, (m, n, spec.k), longest)
    job = (files("verif") / "activity.py").read_bytes()
    parts: list[str | bytes] = [str(_FORMAT), Emission(design).verilog, design.key, job]
    parts.append(_pack(sums))
    return sums, paths.cache() / "activity" / f"{paths.digest(parts)[:24]}.npz"


def _pack(sums: list[Sum]) -> bytes:
    packed = io.BytesIO()
    np.savez(
        packed, lengths=np.array([a.shape[1] for a, _ in sums]),
        a=np.concatenate([a.reshape(-1) for a, _ in sums]),
        b=np.concatenate([b.reshape(-1) for _, b in sums]),
    )  # fmt: skip
    return packed.getvalue()


def _operands(
    a_format: IntFormat,
    b_format: IntFormat,
    stimulus: str,
    shape: tuple[int, int, int],
    longest: int,
) -> list[Sum]:
    """Return tiles m x K and K x n: enough for ``CYCLES``, two before and one after."""
    m, n, k = shape
    rng = np.random.default_rng(_SEED)
    if stimulus == "digits":
        layers = _layers(a_format, b_format)
    sums: list[Sum] = []
    beats = 0
    while beats < CYCLES or len(sums) < _WARM_UP + 2:
        if stimulus == "digits":
            x, weights = layers[len(sums) % len(layers)]
            a = x[rng.integers(len(x), size=m)]
            b = weights[:, (np.arange(n) + rng.integers(weights.shape[1])) % weights.shape[1]]
        else:
            length = min(LENGTH, longest)
            length -= length % k if length > k else 0
            draw = {"normal": normal, "uniform": uniform}[stimulus]
            a, b = draw(rng, a_format, (m, length)), draw(rng, b_format, (length, n))
        a, b = a[:, :longest], b[:longest]
        sums.append((a, b))
        beats = sum(-(-a.shape[1] // k) for a, _ in sums[_WARM_UP:-1])
    return sums


def _layers(a_format: IntFormat, b_format: IntFormat) -> list[Sum]:
    for name, fmt in (("a", a_format), ("b", b_format)):
        if (fmt.low, fmt.high) != digits.CODES:
            raise ValueError(f"{name} must be int8 for digits, not {fmt.low}..{fmt.high}")
    network, images, _ = digits.load()
    found = []

    def multiply(x: Any, weights: Any) -> Any:
        found.append((x.astype(np.int64), weights.astype(np.int64)))
        return digits.matmul(x, weights)

    network.run(images, multiply)
    return found


def annotated(flat: Flat, driven: Ids) -> float:
    """Return the share of the cells' pins whose nets were simulated."""
    known = np.zeros(flat.nets, bool)
    known[driven[driven < flat.nets]] = True
    pins = annotated = 0
    for name, module in flat.modules.items():
        for group in module.groups:
            for ids in group.pins.values():
                nets = flat.nets_of[name][:, ids]
                pins += nets.size
                annotated += int(known[nets].sum())
    return annotated / pins if pins else 0.0
