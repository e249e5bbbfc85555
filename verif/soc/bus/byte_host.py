"""A host that reads and writes single bytes, and AXI's channels as streams."""

from types import SimpleNamespace
from typing import Any

import numpy as np
from amaranth import Cat

from verif.soc.bus.partners import Part

__all__ = ["Host", "channels"]


class Host(Part):
    """Reads and writes single bytes, one after the other, at random times."""

    def __init__(self, dut: Any, asked: list[tuple[int, int | None]], seed: int):
        self.host, self.asked, self.rng = dut.host, asked, np.random.default_rng(seed)
        self.ports = [dut.host.done, dut.host.read, dut.host.error]
        self.found: list[tuple[int, int]] = []
        self.requests = False

    def drive(self, ctx: Any) -> None:
        pending = len(self.found) < len(self.asked)
        self.requests = pending and (self.requests or bool(self.rng.integers(2)))
        ctx.set(self.host.request, self.requests)
        if self.requests:
            address, data = self.asked[len(self.found)]
            ctx.set(self.host.address, address)
            ctx.set(self.host.write, data is not None)
            ctx.set(self.host.data, data or 0)

    def see(self, cycle: int, values: Any) -> None:
        done, read, error = values
        assert self.requests or not done
        if done:
            self.found.append((read, error))
            self.requests = False


def channels(dut: Any) -> Any:
    """Return AXI's channels as streams."""
    axi = dut.axi
    fields = {
        "ar": (axi.araddr, axi.arlen),
        "aw": (axi.awaddr, axi.awlen),
        "w": (axi.wdata, axi.wstrb, axi.wlast),
        "r": (axi.rdata, axi.rlast, axi.rresp),
        "b": (axi.bresp,),
    }
    return SimpleNamespace(**{
        name: SimpleNamespace(
            valid=getattr(axi, f"{name}valid"),
            ready=getattr(axi, f"{name}ready"),
            payload=Cat(*parts),
        )
        for name, parts in fields.items()
    })
