"""The block as a LiteX module: its buses are LiteX's, its interrupt is an event."""

from textwrap import indent

from carrysave.ip.facts import Facts, capital
from hw.emit.bus_interfaces import Interface

__all__ = ["CLASS", "module", "usage"]

CLASS = "MatmulCoprocessor"

_CHANNELS = ("AW", "AR", "W", "B", "R")
"""Signal names begin with their channel's; in LiteX they are attributes of the channel."""


def module(block: Facts) -> str:
    """Write the module; its Verilog is beside it."""
    subordinate = block.interface("AXI4LITE")
    clock, reset, interrupt = (
        block.interface(kind).name for kind in ("clock", "reset", "interrupt")
    )
    window = block.port(subordinate.ports["AWADDR"])["width"]
    connections = [
        f"i_{clock}=ClockSignal(clock_domain),",
        f"i_{reset}=~ResetSignal(clock_domain),",
        f"o_{interrupt}=self.ev.interrupt.trigger,",
        *_connections(block, subordinate, "bus", "self.bus.{channel}.addr" + f"[:{window}]"),
    ]
    for manager in block.interfaces("AXI4"):
        connections += _connections(block, manager, "master", "{channel}_address")
    for stream in block.interfaces("AXI4STREAM"):
        connections += [
            f"{block.port(port)['direction'][0]}_{port}=self.{_side(stream)}.{logical[1:].lower()},"
            for logical, port in stream.ports.items()
        ]
    spec = block.spec
    sizes = {"data_width": spec.data_width, "address_width": spec.address_width}
    own = _STREAMS if spec.STREAM else _MEMORY
    return _TEMPLATE.format(
        summary=capital(block.design.entry.summary),
        name=CLASS,
        module=block.module,
        window=1 << window,
        usage=indent(usage(block), "    "),
        **{name: text.format(**sizes, bytes=spec.bytes) for name, text in own.items()},
        connections=indent("\n".join(connections), " " * 12),
    )


def usage(block: Facts) -> str:
    """Return the lines that connect the module to a SoC, with its registers at `region`."""
    own = _STREAMS_USAGE if block.spec.STREAM else _MEMORY_USAGE
    return own.format(data_width=block.spec.data_width)


def _side(stream: Interface) -> str:
    """Name the endpoint of a stream: a, b or c."""
    return stream.name.rpartition("_")[2]


def _connections(block: Facts, interface: Interface, own: str, address: str) -> list[str]:
    """Connect every port of a bus; addresses to the signal that `address` returns for a channel."""
    lines = []
    for logical, port in interface.ports.items():
        name = next(name for name in _CHANNELS if logical.startswith(name))
        channel, signal = name.lower(), logical.removeprefix(name).lower()
        value = f"self.{own}.{channel}.{signal}"
        if signal == "addr":
            value = address.format(channel=channel)
        lines.append(f"{block.port(port)['direction'][0]}_{port}={value},")
    return lines


_MEMORY_USAGE = """\
soc.bus.add_slave("matmul", soc.matmul.bus, region)
soc.bus.add_master("matmul", soc.matmul.master)"""

_STREAMS_USAGE = """\
from litex.soc.cores.dma import WishboneDMAReader, WishboneDMAWriter
from litex.soc.interconnect import wishbone

soc.bus.add_slave("matmul", soc.matmul.bus, region)
dmas = {{"a": WishboneDMAReader, "b": WishboneDMAReader, "c": WishboneDMAWriter}}
for name, kind in dmas.items():
    bus = wishbone.Interface(data_width={data_width}, address_width=32)
    dma = kind(bus, endianness="big", with_csr=True)  # bytes as they are
    soc.add_module(f"matmul_{{name}}", dma)
    soc.bus.add_master(f"matmul_{{name}}", bus)
    if name == "c":
        soc.comb += soc.matmul.c.connect(dma.sink, omit={{"keep"}})
    else:
        soc.comb += dma.source.connect(getattr(soc.matmul, name))"""

_MEMORY = {
    "imports": "from litex.soc.interconnect.axi import AXIInterface, AXILiteInterface",
    "signals": ", Signal",
    "parameters": """
    address_width : bits of an address of the SoC's bus, up to {address_width}; higher ones of
        addresses in jobs are lost.""",
    "members": "master : AXI4 manager, the memory.",
    "arguments": ", address_width=32",
    "check": """
        if not 1 <= address_width <= {address_width}:
            text = f"1..{address_width}, not {{address_width!r}}"
            raise ValueError(f"address_width must be {{text}}")""",
    "made": """\
        self.master = AXIInterface(
            data_width={data_width}, address_width=address_width, clock_domain=clock_domain
        )""",
    "driven": """
        ar_address, aw_address = Signal({address_width}), Signal({address_width})
        self.comb += [
            self.master.ar.addr.eq(ar_address),
            self.master.aw.addr.eq(aw_address),
        ]""",
}
"""Parts of the module for a build with a memory port."""

_STREAMS = {
    "imports": """\
from litex.soc.interconnect import stream
from litex.soc.interconnect.axi import AXILiteInterface""",
    "signals": "",
    "parameters": "",
    "members": """\
a, b : endpoints that take A and B, see README.md; ``keep`` and ``last`` are ignored.
    c : endpoint that gives C.""",
    "arguments": "",
    "check": "",
    "made": """\
        layout = [("data", {data_width}), ("keep", {bytes})]
        self.a, self.b, self.c = (stream.Endpoint(layout) for _ in "abc")""",
    "driven": "",
}
"""Parts of the module for a build with streams."""

_TEMPLATE = '''\
"""LiteX module of {module}.

{summary}.

    soc.matmul = {name}(platform)
    region = SoCRegion(origin=..., size=0x1000, cached=False)
{usage}
    soc.irq.add("matmul")
"""

import os

from litex.gen import LiteXModule
{imports}
from litex.soc.interconnect.csr_eventmanager import EventManager, EventSourceLevel
from migen import ClockSignal, Instance, ResetSignal{signals}

__all__ = ["{name}"]


class {name}(LiteXModule):
    """The co-processor, in one clock domain.

    Parameters
    ----------
    platform : takes in the Verilog.
    clock_domain : of all ports.{parameters}

    Members
    -------
    bus : AXI4-Lite subordinate, the registers; {window} bytes.
    {members}
    ev.interrupt : a level.
    """

    def __init__(self, platform, clock_domain="sys"{arguments}):{check}
        self.bus = AXILiteInterface(data_width=32, address_width=32, clock_domain=clock_domain)
{made}
        self.ev = EventManager()
        self.ev.interrupt = EventSourceLevel()
        self.ev.finalize()
{driven}
        self.specials += Instance(
            "{module}",
{connections}
        )
        platform.add_source(os.path.join(os.path.dirname(__file__), "{module}.v"))
'''
