"""The block as a LiteX module: its buses are LiteX's, its interrupt is an event."""

from carrysave.integration.block import Block, capital
from hw.interfaces import Interface

__all__ = ["CLASS", "module"]

CLASS = "MatmulCoprocessor"

_CHANNELS = ("AW", "AR", "W", "B", "R")
"""Names of signals begin with their channel's; in LiteX, a channel has them as attributes."""


def module(block: Block) -> str:
    """Write the module; its Verilog is beside it."""
    subordinate, manager = block.interface("AXI4LITE"), block.interface("AXI4")
    clock, reset, interrupt = (
        block.interface(kind).name for kind in ("clock", "reset", "interrupt")
    )
    window = block.port(subordinate.ports["AWADDR"])["width"]
    connections = [
        f"i_{clock}=ClockSignal(clock_domain),",
        f"i_{reset}=~ResetSignal(clock_domain),",
        f"o_{interrupt}=self.ev.interrupt.trigger,",
        *_connections(block, subordinate, "self.bus.{channel}.addr" + f"[:{window}]"),
        *_connections(block, manager, "{channel}_address"),
    ]
    return _TEMPLATE.format(
        summary=capital(block.design.entry.summary),
        name=CLASS,
        module=block.module,
        window=1 << window,
        data_width=block.spec.data_width,
        address_width=block.spec.address_width,
        connections="\n".join(f"            {line}" for line in connections),
    )


def _connections(block: Block, interface: Interface, address: str) -> list[str]:
    """Connect every port of a bus; addresses to what `address` says of a channel."""
    own = {True: "bus", False: "master"}[interface.inward]
    lines = []
    for logical, port in interface.ports.items():
        name = next(name for name in _CHANNELS if logical.startswith(name))
        channel, signal = name.lower(), logical.removeprefix(name).lower()
        value = f"self.{own}.{channel}.{signal}"
        if signal == "addr":
            value = address.format(channel=channel)
        lines.append(f"{block.port(port)['direction'][0]}_{port}={value},")
    return lines


_TEMPLATE = '''\
"""LiteX module of {module}.

{summary}.

    soc.matmul = {name}(platform)
    soc.bus.add_slave("matmul", soc.matmul.bus, SoCRegion(origin=..., size=0x1000, cached=False))
    soc.bus.add_master("matmul", soc.matmul.master)
    soc.irq.add("matmul")
"""

import os

from litex.gen import LiteXModule
from litex.soc.interconnect.axi import AXIInterface, AXILiteInterface
from litex.soc.interconnect.csr_eventmanager import EventManager, EventSourceLevel
from migen import ClockSignal, Instance, ResetSignal, Signal

__all__ = ["{name}"]


class {name}(LiteXModule):
    """The co-processor, in one clock domain.

    Parameters
    ----------
    platform : takes in the Verilog.
    clock_domain : of all ports.
    address_width : bits of an address of the SoC's bus, up to {address_width}; higher ones of
        addresses in jobs are lost.

    Members
    -------
    bus : AXI4-Lite subordinate, the registers; {window} bytes.
    master : AXI4 manager, the memory.
    ev.interrupt : a level.
    """

    def __init__(self, platform, clock_domain="sys", address_width=32):
        if not 1 <= address_width <= {address_width}:
            raise ValueError(f"address_width must be 1..{address_width}, not {{address_width!r}}")
        self.bus = AXILiteInterface(data_width=32, address_width=32, clock_domain=clock_domain)
        self.master = AXIInterface(
            data_width={data_width}, address_width=address_width, clock_domain=clock_domain
        )
        self.ev = EventManager()
        self.ev.interrupt = EventSourceLevel()
        self.ev.finalize()

        ar_address, aw_address = Signal({address_width}), Signal({address_width})
        self.comb += [
            self.master.ar.addr.eq(ar_address),
            self.master.aw.addr.eq(aw_address),
        ]
        self.specials += Instance(
            "{module}",
{connections}
        )
        platform.add_source(os.path.join(os.path.dirname(__file__), "{module}.v"))
'''
