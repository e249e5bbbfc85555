"""Agent of the register interface: accesses, their driver, and a monitor that knows the rules."""

from typing import Any

import cocotb
from cocotb.triggers import First, RisingEdge
from pyuvm import (
    uvm_agent,
    uvm_analysis_port,
    uvm_driver,
    uvm_monitor,
    uvm_sequence_item,
    uvm_sequencer,
)

from carrysave.sim.cocotb.host import Host
from carrysave.sim.cocotb.pins import bits_of

__all__ = ["Access", "AxiLiteAgent", "AxiLiteDriver", "AxiLiteMonitor"]


class Access(uvm_sequence_item):
    """A read or write of a register.

    Members
    -------
    address, data, strobe : of a write; `data` of a read is what came.
    waits : cycles by which channels are late: ``aw``, ``w``, ``b``; ``ar``, ``r``.
    response : of the bus.
    """

    def __init__(
        self, address: int, data: int | None = None, strobe: int = 15, **waits: int
    ) -> None:
        super().__init__("access")
        self.write = data is not None
        self.address = address
        self.data = data or 0
        self.strobe = strobe
        self.waits = waits
        self.response = 0


class AxiLiteDriver(uvm_driver):
    """Carries out accesses, one after the other."""

    def start_of_simulation_phase(self) -> None:
        """Take hold of the pins."""
        self.host = Host(cocotb.top)

    async def run_phase(self) -> None:
        """Serve the sequencer."""
        while True:
            item = await self.seq_item_port.get_next_item()
            if item.write:
                item.response = await self.host.write(
                    item.address, item.data, item.strobe, **item.waits
                )
            else:
                item.response, item.data = await self.host.access(item.address, **item.waits)
            self.seq_item_port.item_done()


class AxiLiteMonitor(uvm_monitor):
    """Reports accesses that have ended, and checks what the subordinate does.

    Responses come after their requests only, as OKAY or SLVERR, and stay as they are until they
    are taken; a request is taken within some cycles. While no channel is in use it sleeps.
    """

    PATIENCE = 64
    """Cycles that a request may wait, or be without response."""

    def build_phase(self) -> None:
        """Make the port."""
        self.accesses = uvm_analysis_port("accesses", self)

    def start_of_simulation_phase(self) -> None:
        """Find the pins."""
        names = (
            "awaddr", "awvalid", "awready", "wdata", "wstrb", "wvalid", "wready", "bresp", "bvalid",
            "bready", "araddr", "arvalid", "arready", "rdata", "rresp", "rvalid", "rready",
        )  # fmt: skip
        self.pins = {name: getattr(cocotb.top, f"s_axi_{name}") for name in names}
        self.bits = {name: bits_of(pin) for name, pin in self.pins.items()}
        self.held: dict[str, tuple[str, ...] | None] = {}
        self.restart()

    def restart(self) -> None:
        """Forget what is under way: there was a reset."""
        self.address: list[int] = []
        self.data: list[tuple[int, int]] = []
        self.reads: list[int] = []
        self.held = {"b": None, "r": None}
        self.waited = 0

    async def run_phase(self) -> None:
        """Watch every edge, but sleep while there is nothing to see."""
        top: Any = cocotb.top
        names = [f"{channel}valid" for channel in ("aw", "w", "b", "ar", "r")]
        valids, running = [self.bits[name] for name in names], bits_of(top.aresetn)
        edge, rising = RisingEdge(top.aclk), [RisingEdge(self.pins[name]) for name in names]
        while True:
            if "1" not in [valid() for valid in valids]:
                assert not (self.address and self.data) or self.waited < self.PATIENCE
                if not (self.address or self.data or self.reads):
                    await First(*rising)
            await edge
            if running() == "1":
                self._see()
            else:
                self.restart()

    def _moves(self, channel: str) -> bool:
        """Whether there is a transfer."""
        return self.bits[f"{channel}valid"]() == "1" == self.bits[f"{channel}ready"]()

    def _value(self, name: str) -> int:
        return int(self.bits[name](), 2)

    def _see(self) -> None:
        """Look at one edge; responses first, which belong to requests of earlier ones."""
        self.waited += 1
        assert self.waited < self.PATIENCE, "a register access is not answered"
        response = self._response("b", ("bresp",))
        if response is not None:
            assert self.address, "a response without a write"
            assert self.data, "a response without a write"
            item = Access(self.address.pop(0), *self.data.pop(0))
            self._report(item, response)
        response = self._response("r", ("rresp", "rdata"))
        if response is not None:
            assert self.reads, "a response without a read"
            item = Access(self.reads.pop(0))
            item.data = self._value("rdata")
            self._report(item, response)
        if self._moves("aw"):
            self.address.append(self._value("awaddr"))
        if self._moves("w"):
            self.data.append((self._value("wdata"), self._value("wstrb")))
        if self._moves("ar"):
            self.reads.append(self._value("araddr"))

    def _response(self, channel: str, names: tuple[str, ...]) -> int | None:
        """Check a response; returns it when it is taken."""
        if self.bits[f"{channel}valid"]() != "1":
            assert self.held[channel] is None, f"{channel}valid was withdrawn"
            return None
        values = tuple([self.bits[name]() for name in names])
        held = self.held[channel]
        assert held in (None, values), f"{channel} changed while it waited: {held} to {values}"
        if self.bits[f"{channel}ready"]() != "1":
            self.held[channel] = values
            self.waited = 0
            return None
        self.held[channel] = None
        return int(values[0], 2)

    def _report(self, item: Access, response: int) -> None:
        assert response in (0, 2), f"response {response} is neither OKAY nor SLVERR"
        self.waited = 0
        item.response = response
        self.accesses.write(item)


class AxiLiteAgent(uvm_agent):
    """Sequencer, driver, monitor."""

    def build_phase(self) -> None:
        """Make the parts."""
        super().build_phase()
        self.sequencer = uvm_sequencer("sequencer", self)
        self.driver = AxiLiteDriver("driver", self)
        self.monitor = AxiLiteMonitor("monitor", self)

    def connect_phase(self) -> None:
        """Connect driver and sequencer."""
        self.driver.seq_item_port.connect(self.sequencer.seq_item_export)

    def pins(self) -> Any:
        """Return the host that has the pins, for what is no access."""
        return self.driver.host
