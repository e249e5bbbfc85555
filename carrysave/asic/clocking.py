"""Finds what clocks and what resets the registers of a design, in Yosys's JSON of it."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["REGISTER", "Roots", "is_reset", "roots"]

Modules = dict[str, dict[str, Any]]  # as in Yosys's JSON

REGISTER = "a register"
_CLOCKS, _ASYNCHRONOUS = ("CLK",), ("ARST", "ALOAD", "SET", "CLR")
_FLIP_FLOP = re.compile(r"\$(a|al|s)?dff(e|ce|sr|sre)?")
_STATE = re.compile(r"\$.*(dff|dlatch|sr|mem).*")
_RESET = re.compile(
    r"(.*[_\d])?[ahnps]?(rst|reset)(_?(n|b|l|x|p|i|in|ni|no|async|sync))*\d*", re.IGNORECASE
)


def is_reset(name: str) -> bool:
    """Return whether a port is a reset by its name: ``rst``, ``aresetn``, ``sys_rst_ni``."""
    return _RESET.fullmatch(name) is not None


@dataclass(frozen=True)
class Roots:
    """Where clocks and asynchronous sets and resets come from.

    Members
    -------
    clocks : for each set of flip-flops, the inputs of the design that their clock is computed from,
        and :data:`REGISTER` if a register is among what it is computed from.
    asynchronous : the same of all asynchronous set and reset pins together.
    """

    clocks: list[list[str]]
    asynchronous: list[str]


def roots(modules: Modules, names: Sequence[str]) -> Roots:
    """Trace the clock pins and the asynchronous pins of all flip-flops back to inputs of a design.

    Parameters
    ----------
    modules : after ``proc``, cells of Yosys's and of other modules only.
    names : of the modules, the top first, every parent before its children.
    """
    known: dict[str, _Module] = {}
    for name in reversed(names):
        known[name] = _Module(modules[name], known)
    top_pins = known[names[0]]
    asynchronous = set[str]().union(*top_pins.asynchronous)
    return Roots(sorted(map(sorted, top_pins.clocks)), sorted(asynchronous))


def _cells(module: dict[str, Any]) -> Iterable[dict[str, Any]]:
    cells: dict[str, dict[str, Any]] = module.get("cells", {})
    return cells.values()


class _Module:
    """What drives the nets of a module, and what its flip-flops need, in terms of its inputs."""

    def __init__(self, module: dict[str, Any], known: dict[str, "_Module"]):
        self._drivers: dict[int, str | tuple[_Module | None, dict[str, Any], str, int]] = {}
        self._known = known
        self._sources: dict[int, frozenset[str]] = {}
        self.outputs: dict[tuple[str, int], int] = {}
        for port, port_facts in module["ports"].items():
            for index, bit in enumerate(port_facts["bits"]):
                if port_facts["direction"] == "output":
                    self.outputs[port, index] = bit
                elif isinstance(bit, int):
                    self._drivers[bit] = (
                        port if len(port_facts["bits"]) == 1 else f"{port}[{index}]"
                    )
        for cell in _cells(module):
            for port, bits in cell["connections"].items():
                if cell["port_directions"].get(port) == "output":
                    for index, bit in enumerate(bits):
                        inside = known.get(cell["type"])
                        self._drivers[bit] = (inside, cell, port, index)
        self.clocks: set[frozenset[str]] = set()
        self.asynchronous: set[frozenset[str]] = set()
        for cell in _cells(module):
            inside = known.get(cell["type"])
            if inside is not None:
                self.clocks |= {self._outside(cell, port_facts) for port_facts in inside.clocks}
                self.asynchronous |= {
                    self._outside(cell, port_facts) for port_facts in inside.asynchronous
                }
            elif _FLIP_FLOP.fullmatch(cell["type"]):
                for pins, into in ((_CLOCKS, self.clocks), (_ASYNCHRONOUS, self.asynchronous)):
                    bits = [bit for pin in pins for bit in cell["connections"].get(pin, ())]
                    into |= {self.sources(bit) for bit in bits}
        for into in (self.clocks, self.asynchronous):
            into.discard(frozenset())

    def _outside(self, cell: dict[str, Any], names: Iterable[str]) -> frozenset[str]:
        """Say what an instance's inputs, by name, are computed from."""
        outside = {name for name in names if name == REGISTER}
        for name in names:
            for bit in _bits(cell, name):
                outside |= self.sources(bit)
        return frozenset(outside)

    def sources(self, bit: int | str) -> frozenset[str]:
        """Return the inputs that a net is computed from without a register between."""
        if not isinstance(bit, int):
            return frozenset()
        if bit not in self._sources:
            sources, seen, left = set[str](), {bit}, [bit]
            while left:
                driver = self._drivers.get(left.pop())
                if driver is None:
                    continue
                if isinstance(driver, str):
                    sources.add(driver)
                    continue
                inside, cell, port, index = driver
                if inside is not None:
                    names = inside.sources(inside.outputs[port, index])
                    sources |= names & {REGISTER}
                    more = [_bits(cell, name) for name in names]
                elif _STATE.fullmatch(cell["type"]):
                    sources.add(REGISTER)
                    continue
                else:
                    more = [
                        bits
                        for name, bits in cell["connections"].items()
                        if cell["port_directions"][name] == "input"
                    ]
                for one in (one for bits in more for one in bits):
                    if isinstance(one, int) and one not in seen:
                        seen.add(one)
                        left.append(one)
            self._sources[bit] = frozenset(sources)
        return self._sources[bit]


def _bits(cell: dict[str, Any], name: str) -> list[Any]:
    """Return what an input of an instance is connected to, by the name of the input or one bit."""
    port, _, index = name.partition("[")
    bits: list[Any] = cell["connections"].get(port, [])
    return bits[int(index.rstrip("]")) :][:1] if index else bits
