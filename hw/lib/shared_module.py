"""Shared modules: components that become one Verilog module each, however many instances."""

from typing import Any, ClassVar

from amaranth import ClockSignal, Instance, Module, Signal, ValueCastable
from amaranth.hdl import Elaboratable
from amaranth.lib import wiring
from amaranth.lib.wiring import In

__all__ = ["NO_COLLISION", "UNINITIALISED", "SharedModule", "Placement"]

UNINITIALISED = "carrysave_uninitialised"
"""Attribute of memories whose words are always written before they are read.

Amaranth gives each word of a memory an initial value, one line of Verilog each; these memories are
emitted without."""

NO_COLLISION = "no_rw_check"
"""Attribute of memories of which no word that counts is read while it is written.

Yosys knows it by this name: what such a read returns is the block RAM's choice."""


class SharedModule(wiring.Component):
    """A component that is converted once and placed by reference.

    Its ports are plain signals, and no register is reset: the module has a port ``clk``, if it has
    registers in the domain ``sync``, ``NAME_clk`` for each other one of :attr:`domains`, and no
    ``rst``.
    """

    module: str
    """Name of the Verilog module inside its design."""

    CLOCKED: ClassVar[bool] = True
    """It has registers."""

    domains: tuple[str, ...] = ("sync",)
    """Where its registers are."""

    @property
    def shared_modules(self) -> tuple["SharedModule", ...]:
        """Shared modules that this one places."""
        return ()

    def elaborate(self, platform) -> Module:
        """Build the logic."""
        raise NotImplementedError

    def place(self) -> "Placement":
        """Make one instance; its ports are the attributes of the result."""
        return Placement(self)


class Placement(Elaboratable):
    """One instance of a shared module."""

    def __init__(self, shared: SharedModule):
        self.shared = shared
        self._ports: dict[str, Any] = {}
        for path, member, _ in shared.signature.flatten(shared):
            (name,) = path
            self._ports[name] = Signal(member.shape, name=name)

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["_ports"][name]
        except KeyError:
            raise AttributeError(f"{self.shared.module} has no port {name}") from None

    def elaborate(self, platform):
        connections: dict[str, Any] = {}
        if self.shared.CLOCKED:
            for domain in self.shared.domains:
                clock = "clk" if domain == "sync" else f"{domain}_clk"
                connections[f"i_{clock}"] = ClockSignal(domain)
        for path, member, _ in self.shared.signature.flatten(self.shared):
            (name,) = path
            direction = "i" if member.flow == In else "o"
            signal = self._ports[name]
            if isinstance(signal, ValueCastable):
                signal = signal.as_value()
            connections[f"{direction}_{name}"] = signal
        return Instance(self.shared.module, **connections)
