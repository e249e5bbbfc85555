"""An engine's three streams under cocotb: tiles in, rows of C out."""

import importlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
from cocotb.task import Task

from carrysave.sim.cocotb.bench import Bench
from carrysave.sim.cocotb.streams import Sink, Source, pack, unpack
from carrysave.sim.tiling import cut, join
from golden.engine import EngineSpec

__all__ = ["ENGINE_PORTS", "TRAFFIC", "EngineDriver", "Ports", "golden_module", "product_of"]

TRAFFIC = [
    ("flowing", "flowing", "flowing"),
    ("flowing", "flowing", "sparse"),
    ("flowing", "flowing", "long"),
    ("sparse", "flowing", "flowing"),
    ("flowing", "sparse", "flowing"),
    ("long", "bursts", "rare"),
    ("bursts", "long", "rare"),
    ("rare", "rare", "bursts"),
    ("bursts", "bursts", "long"),
    ("sparse", "rare", "sparse"),
]
"""Stalls of A, B and C, by name in :data:`carrysave.sim.cocotb.streams.SCHEDULES`."""

Stalls = Iterator[bool] | None


@dataclass(frozen=True, kw_only=True)
class Ports:
    """Names of an engine's ports: what those of each stream begin with, and what they end with."""

    a: str = "i_a"
    b: str = "i_b"
    c: str = "o_c"
    clk: str = "clk"
    valid: str = "valid"
    ready: str = "ready"
    data: str = "data"
    last: str = "last"


ENGINE_PORTS = Ports()
"""As a generated engine has them."""


def golden_module(spec: EngineSpec) -> ModuleType:
    """Return the module of an engine's golden model."""
    return importlib.import_module(type(spec).__module__)


def product_of(spec: EngineSpec) -> Callable[..., np.ndarray]:
    """Return an engine's golden product: weights may represent other numbers than their codes."""
    golden = golden_module(spec)
    product: Callable[..., np.ndarray] = getattr(golden, golden.__name__.rpartition(".")[2])
    return product


class EngineDriver(Bench):
    """Sends tiles to an engine and takes the rows of C.

    Parameters
    ----------
    spec : of the engine.
    ports : where its streams are.
    """

    def __init__(self, dut: Any, spec: EngineSpec, ports: Ports = ENGINE_PORTS) -> None:
        super().__init__(dut, spec, ports)
        self.spec = spec
        self._codes = ["codes"] if spec.bipolar else []
        named: dict[str, Any] = {
            "clk": getattr(dut, ports.clk),
            "valid": ports.valid,
            "ready": ports.ready,
        }
        self.a = Source(dut, ports.a, [ports.data, *self._codes, ports.last], **named)
        self.b = Source(dut, ports.b, [ports.data], **named)
        self.c = Sink(dut, ports.c, [ports.data, ports.last], **named)

    def send_a(
        self, codes: np.ndarray, lengths: Sequence[int], stalls: Stalls = None
    ) -> Task[None]:
        """Start to send beats of A for tiles of these lengths; the last of each pass is marked."""
        last = np.zeros(len(codes), dtype=int)
        passes = self.spec.passes
        last[np.cumsum(np.repeat(np.asarray(lengths) // passes, passes)) - 1] = 1
        fields = [pack(self.spec.a_patterns(codes), self.spec.a_code_width)]
        if self._codes:
            fields.append((codes[:, : self.spec.k] >= 0).sum(axis=1).tolist())
        return self.a.send(list(zip(*fields, last.tolist(), strict=True)), stalls)

    def send_b(self, codes: np.ndarray, stalls: Stalls = None) -> Task[None]:
        """Start to send beats of B."""
        return self.b.send([(value,) for value in pack(codes, self.spec.b_code_width)], stalls)

    def take(self, tiles: int, stalls: Stalls = None) -> Task[None]:
        """Start to take the rows of some tiles of C."""
        return self.c.take(tiles * self.spec.m, stalls)

    async def multiply(
        self, a: np.ndarray, b: np.ndarray, stalls: tuple[Stalls, Stalls, Stalls] = (None,) * 3
    ) -> np.ndarray:
        """Multiply matrices of any size, cut into tiles, and K into parts of at most k_max.

        Parameters
        ----------
        a, b : codes, M x K and K x N.
        stalls : of A, B and C, see :func:`carrysave.sim.cocotb.streams.schedule`.

        Returns
        -------
        int64, M x N.
        """
        job = cut(self.spec, a, b)
        self.send_a(job.a, job.lengths.tolist(), stalls[0])
        self.send_b(job.b, stalls[1])
        await self.take(len(job.lengths), stalls[2])
        return join(self.spec, job, self.rows())

    def rows(self) -> np.ndarray:
        """Rows of C taken since the last call; checks that the last of each tile is marked."""
        data, last = self.c.pop()
        marks = np.array([int(value) for value in last])
        due = np.arange(1, len(marks) + 1) % self.spec.m == 0
        assert np.array_equal(marks, due), f"o_c_last is {marks} and must be {due.astype(int)}"
        return unpack(data, self.spec.c_format)
