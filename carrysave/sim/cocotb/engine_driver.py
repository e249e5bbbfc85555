"""An engine's three streams under cocotb: tiles in, rows of C out."""

import importlib
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import Any

import numpy as np
from cocotb.task import Task

from carrysave.sim.cocotb.bench import Bench
from carrysave.sim.cocotb.streams import Sink, Source, pack, unpack
from golden.engine import EngineSpec

__all__ = ["TRAFFIC", "EngineDriver", "golden_module", "product_of"]

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


def golden_module(spec: EngineSpec) -> ModuleType:
    """Return the module of an engine's golden model."""
    return importlib.import_module(type(spec).__module__)


def product_of(spec: EngineSpec) -> Callable[..., np.ndarray]:
    """Return an engine's golden product: weights may represent other numbers than their codes."""
    golden = golden_module(spec)
    product: Callable[..., np.ndarray] = getattr(golden, golden.__name__.rpartition(".")[2])
    return product


class EngineDriver(Bench):
    """Sends tiles to an engine and takes the rows of C."""

    def __init__(self, dut: Any, spec: EngineSpec) -> None:
        super().__init__(dut, spec)
        self.spec = spec
        self.a = Source(dut, "i_a", ["data", "last"])
        self.b = Source(dut, "i_b", ["data"])
        self.c = Sink(dut, "o_c", ["data", "last"])

    def send_a(
        self, codes: np.ndarray, lengths: Sequence[int], stalls: Stalls = None
    ) -> Task[None]:
        """Start to send beats of A for tiles of these lengths; the last of each pass is marked."""
        last = np.zeros(len(codes), dtype=int)
        passes = self.spec.passes
        last[np.cumsum(np.repeat(np.asarray(lengths) // passes, passes)) - 1] = 1
        values = pack(self.spec.a_patterns(codes), self.spec.a_code_width)
        return self.a.send(list(zip(values, last.tolist(), strict=True)), stalls)

    def send_b(self, codes: np.ndarray, stalls: Stalls = None) -> Task[None]:
        """Start to send beats of B."""
        return self.b.send([(value,) for value in pack(codes, self.spec.b_code_width)], stalls)

    def take(self, tiles: int, stalls: Stalls = None) -> Task[None]:
        """Start to take the rows of some tiles of C."""
        return self.c.take(tiles * self.spec.m, stalls)

    def rows(self) -> np.ndarray:
        """Rows of C taken since the last call; checks that the last of each tile is marked."""
        data, last = self.c.pop()
        marks = np.array([int(value) for value in last])
        due = np.arange(1, len(marks) + 1) % self.spec.m == 0
        assert np.array_equal(marks, due), f"o_c_last is {marks} and must be {due.astype(int)}"
        return unpack(data, self.spec.c_format)
