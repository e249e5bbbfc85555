"""Facts about one co-processor that its pack needs."""

from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from typing import Any

from systemrdl.node import AddrmapNode

from golden.soc.spec import CoprocessorSpec
from hw.catalog import Design
from hw.emit.bus_interfaces import Interface
from hw.emit.flat_ports import check_one_clock
from hw.emit.verilog import Emission

__all__ = ["OUTSIDE", "Facts", "version_of"]

OUTSIDE = 0.3
"""Fraction of the period reserved outside the block for paths to and from its ports."""


def version_of() -> str:
    """Return the version of this package, which is every block's version."""
    return version("carrysave")


@dataclass(frozen=True)
class Facts:
    """One build of the co-processor, the clock that it is meant for, and what its pack has.

    Members
    -------
    emission : the build.
    period_ns : of the clock.
    docs : the register map is there as HTML too.
    outside : share of the period that paths take outside the block.
    """

    emission: Emission
    period_ns: float = 10.0
    docs: bool = False
    outside: float = OUTSIDE

    def __post_init__(self) -> None:
        """Refuse a build that what is around it here does not clock."""
        check_one_clock(self.design, "in a system")

    @property
    def timing(self) -> dict[str, float]:
        """What constraints say of the clock."""
        return {"period_ns": self.period_ns, "outside": self.outside}

    @property
    def design(self) -> Design:
        """Name and parameters."""
        return self.emission.design

    @property
    def module(self) -> str:
        """The Verilog module."""
        return self.design.module

    @property
    def summary(self) -> str:
        """What it is, as a sentence begins."""
        text = self.design.entry.summary
        return text[:1].upper() + text[1:]

    @cached_property
    def spec(self) -> CoprocessorSpec:
        """What it computes."""
        spec = self.design.spec
        assert isinstance(spec, CoprocessorSpec)
        return spec

    @property
    def registers(self) -> AddrmapNode:
        """The register map with the values of this build."""
        registers: Any = self.emission.component.registers
        return registers.map

    @property
    def discovery(self) -> dict[str, int]:
        """Parameters of the register map."""
        values: dict[str, int] = self.emission.component.registers.parameters
        return values

    def port(self, name: str) -> dict[str, Any]:
        """Find a port by its name."""
        return next(port for port in self.emission.ports if port["name"] == name)

    def interfaces(self, kind: str) -> list[Interface]:
        """List the interfaces of a kind, see :class:`hw.emit.bus_interfaces.Interface`."""
        return [one for one in self.emission.interfaces if one.kind == kind]

    def interface(self, kind: str) -> Interface:
        """Find the one interface of a kind."""
        (interface,) = self.interfaces(kind)
        return interface

    @property
    def clock(self) -> str:
        """The port of the clock."""
        return self.interface("clock").name

    @property
    def reset(self) -> str:
        """The port of the reset."""
        return self.interface("reset").name

    @property
    def interrupt(self) -> str:
        """The port of the interrupt."""
        return self.interface("interrupt").name

    @property
    def window(self) -> int:
        """Bytes of addresses that the registers take."""
        address = self.interface("AXI4LITE").ports["AWADDR"]
        return 1 << int(self.port(address)["width"])
