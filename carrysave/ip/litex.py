"""The block as a LiteX module: its buses are LiteX's, its interrupt is an event."""

from collections.abc import Iterator

from carrysave.ip.facts import Facts
from carrysave.ip.templates import fill

__all__ = ["CLASS", "module"]

CLASS = "MatmulCoprocessor"

_CHANNELS = ("AW", "AR", "W", "B", "R")
"""Signal names begin with their channel's; in LiteX they are attributes of the channel."""


def module(block: Facts) -> str:
    """Write the module; its Verilog is beside it."""
    connections = {
        f"{block.port(port)['direction'][0]}_{port}": signal for port, signal in _connections(block)
    }
    id_width = sum(int(bus.parameters["ID_WIDTH"]) for bus in block.interfaces("AXI4"))
    return fill(
        "litex.py",
        block=block,
        spec=block.spec,
        name=CLASS,
        connections=connections,
        id_width=id_width,
    )


def _connections(block: Facts) -> Iterator[tuple[str, str]]:
    """Name the signal at every port of a bus or stream."""
    for interface in block.emission.interfaces:
        for logical, port in interface.ports.items():
            if interface.kind == "AXI4STREAM":
                # Endpoints are a, b and c, as the ends of the streams' names.
                endpoint = interface.name.rpartition("_")[2]
                yield port, f"self.{endpoint}.{logical[1:].lower()}"
            elif interface.kind in ("AXI4", "AXI4LITE"):
                name = next(name for name in _CHANNELS if logical.startswith(name))
                channel, signal = name.lower(), logical.removeprefix(name).lower()
                if interface.kind == "AXI4LITE":
                    bits = f"[:{block.port(port)['width']}]" if signal == "addr" else ""
                    yield port, f"self.bus.{channel}.{signal}{bits}"
                elif signal == "addr":
                    yield port, f"{channel}_address"  # as wide as the port
                else:
                    yield port, f"self.master.{channel}.{signal}"
