"""Verilog and manifest of a design."""

import hashlib
import re
from collections.abc import Iterable
from dataclasses import asdict
from functools import cached_property, lru_cache
from importlib.metadata import version
from typing import Any

from amaranth import ClockDomain
from amaranth.back import rtlil  # type: ignore[attr-defined]

from hw.catalog import Design
from hw.emit import tools, yosys
from hw.emit.bus_interfaces import attributes_of, interfaces_of
from hw.emit.flat_ports import FlatPorts, clock_and_reset, fast_clock, flat_ports
from hw.emit.uncollected import uncollected
from hw.lib.shared_module import UNINITIALISED, SharedModule

__all__ = ["Emission", "verilog_of", "versions"]

_FAST = "clock of the array, of twice the frequency; of each two rising edges one is the other's"
_STRIP = ("generator", "top", "src", "amaranth.hierarchy", "amaranth.decoding", UNINITIALISED)


@lru_cache(maxsize=4)
def verilog_of(design: Design) -> str:
    """Return the Verilog of a design, as :class:`Emission` does; the last few are cached."""
    return Emission(design).verilog


class Emission:
    """A design as Verilog, with its manifest.

    Parameters
    ----------
    design : Design
        What to emit.

    Attributes
    ----------
    ports : list of dict
        Name, direction, width and meaning of every port.
    interfaces : list of Interface
        Bus interfaces; empty for designs without a bus.
    verilog : str
        Verilog-2005, with a header comment. The same design gives the same bytes.
    manifest : dict
        Parameters, ports, latency, throughput, names and versions, ready for JSON.
    """

    def __init__(self, design: Design):
        self.design = design
        self.component = design.component()
        self._top = FlatPorts(self.component)
        clock, reset = clock_and_reset(self.component)
        self.ports: list[dict[str, Any]] = [
            {"name": clock, "direction": "input", "width": 1, "is": "clock, rising edge"},
            *(
                {"name": name, "direction": "input", "width": 1, "is": _FAST}
                for name in (fast_clock(self.component),)
                if name
            ),
            {
                "name": reset,
                "direction": "input",
                "width": 1,
                "is": f"synchronous reset, {'low' if reset.endswith('n') else 'high'}",
            },
            *(
                {
                    "name": port.name,
                    "direction": "input" if port.inward else "output",
                    "width": len(port.value),
                    "is": port.path,
                }
                for port in flat_ports(self.component)
            ),
        ]
        self.interfaces = interfaces_of(self.component)
        self._shared = _all_shared(self.component.shared_modules)

    @cached_property
    def verilog(self) -> str:
        """All of it, with the header; made when it is first asked for."""
        with uncollected():
            return self._header() + self._convert()

    @property
    def manifest(self) -> dict[str, Any]:
        """Everything known about the design."""
        design, component, verilog = self.design, self.component, self.verilog
        clock, reset = clock_and_reset(component)
        return {
            "design": design.name,
            "module": design.module,
            "parameters": dict(design.parameters),
            "spec": {
                "type": type(design.spec).__name__,
                **{name: value for name, value in asdict(design.spec).items() if value is not None},
            },
            "hash": _hash(design.key),
            "ports": self.ports,
            "interfaces": [interface._asdict() for interface in self.interfaces],
            "clock": clock,
            "reset": reset,
            "latency_cycles": component.latency,
            "throughput": {"operations_per_cycle": component.operations_per_cycle},
            "names": {port.path: port.name for port in flat_ports(component)},
            "modules": self._modules(),
            "versions": versions(),
            "verilog_sha256": hashlib.sha256(verilog.encode()).hexdigest(),
        }

    def _modules(self) -> dict[str, str]:
        """Name the component of each Verilog module that is ours."""
        modules = {self.design.module: _full_name(type(self.component))}
        for name, shared in self._shared.items():
            modules[f"{self.design.module}__{name}"] = _full_name(type(shared))
        return modules

    def _header(self) -> str:
        design = self.design
        lines = [
            f"{design.module}: {design.entry.summary}",
            "",
            f"parameters  {design.key}",
            f"hash        {_hash(design.key)}",
            "made by     " + ", ".join(f"{name} {text}" for name, text in versions().items()),
            "",
            "Ports; element 0 of a row or column is in the lowest bits.",
            *("  {direction:6} {width:5}  {name:12} {is}".format(**p) for p in self.ports),
        ]
        return "".join(f"// {line}".rstrip() + "\n" for line in lines) + "\n"

    def _convert(self) -> str:
        # One prefix for all modules, so that two designs fit in one project.
        module = self.design.module
        text = rtlil.convert(self._top, name=module, ports=self._top.ports, emit_src=False)
        for name, shared in self._shared.items():
            text += rtlil.convert(
                shared, name=f"{module}__{name}", emit_src=False, missing_domain=_without_reset
            )
        text = _place_names(text, module, self._shared)
        attributes = " ".join(f"-remove {name}" for name in _STRIP)
        # Last, because Yosys moves attributes between ports with the same driver.
        marks = "".join(
            f'setattr -set {name} "{value}" {module}/w:{port}\n'
            for port, named in attributes_of(self.interfaces).items()
            for name, value in named.items()
        )
        with tools.workplace() as folder:
            (folder / "design.il").write_text(text)
            yosys.run(
                "read_rtlil design.il\n"
                "proc\nopt_expr\nopt_clean\npmuxtree\nopt_dff\nopt_clean -purge\n"
                f"memory_collect\nsetparam -set INIT 1'x a:{UNINITIALISED}\n"
                f"attrmap {attributes}\nattrmap -modattr {attributes}\n{marks}"
                "write_verilog design.v",
                cwd=folder,
            )
            verilog = (folder / "design.v").read_text()
        return verilog.partition("\n\n")[2]


def _place_names(text: str, prefix: str, shared: Iterable[str]) -> str:
    """Give shared modules their prefix, and Amaranth's dotted submodules plain names."""
    placed = {f"  cell \\{name} ": f"  cell \\{prefix}__{name} " for name in shared}
    lines = []
    for line in text.splitlines(keepends=True):
        if line.startswith(("module \\", "  cell \\")):
            head, name, rest = re.split(r"(\\\S+)", line, maxsplit=1)
            line = head + name.replace(".", "__") + rest
            for old, new in placed.items():
                line = line.replace(old, new)
        lines.append(line)
    return "".join(lines)


def _all_shared(modules: tuple[SharedModule, ...]) -> dict[str, SharedModule]:
    """Shared modules by name, with those they place."""
    shared: dict[str, SharedModule] = {}
    for module in modules:
        for name, inner in {module.module: module, **_all_shared(module.shared_modules)}.items():
            assert shared.setdefault(name, inner) is inner, f"two modules are named {name}"
    return shared


def _without_reset(name: str) -> ClockDomain:
    return ClockDomain(name, reset_less=True)


def _hash(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()[:16]


def _full_name(kind: type) -> str:
    """Name a class as code of users does, in a checkout as in an installed package."""
    name = f"{kind.__module__}.{kind.__qualname__}"
    return f"carrysave.{name}" if name.startswith("hw.") else name


def versions() -> dict[str, str]:
    """Return the versions of what emits Verilog."""
    return {name: version(name) for name in ("carrysave", "amaranth", "pyosys")}
