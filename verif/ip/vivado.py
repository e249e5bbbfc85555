"""A model of Vivado's block designs: runs a program for it in plain Tcl, and checks what it drew.

What is known of Vivado is from its documentation: which commands and options there are (UG835), and
of each IP the parameters, interfaces and pins that a program may name.
"""

import re
import shutil
import subprocess
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

__all__ = ["Call", "Cell", "Vivado", "block_of", "calls_of"]

Call = list[str]

_COMMANDS = {
    "create_project": ({"-part"}, set()),
    "add_files": (set(), {"-norecurse"}),
    "update_compile_order": ({"-fileset"}, set()),
    "create_bd_design": (set(), set()),
    "create_bd_cell": ({"-type", "-vlnv", "-reference"}, set()),
    "apply_bd_automation": ({"-rule", "-config"}, set()),
    "set_property": ({"-dict"}, set()),
    "connect_bd_intf_net": (set(), set()),
    "connect_bd_net": (set(), set()),
    "assign_bd_address": ({"-target_address_space"}, set()),
    "validate_bd_design": (set(), set()),
    "save_bd_design": (set(), set()),
    "make_wrapper": ({"-files"}, {"-top"}),
    "launch_runs": (set(), set()),
    "wait_on_run": (set(), set()),
    "open_run": (set(), set()),
    "report_utilization": (set(), {"-hierarchical"}),
    "report_timing_summary": (set(), set()),
}
"""Commands that change or report something: options with a value, and without one."""

_OBJECTS = {
    "cells": "bd_cell",
    "intf_pins": "bd_intf_pin",
    "pins": "bd_pin",
    "addr_spaces": "bd_addr_space",
    "addr_segs": "bd_addr_seg",
}

_PRELUDE = """
proc tell {{args}} {{
    foreach word $args {{ puts -nonewline "[string map [list \\n " "] $word]\\x1f" }}
    puts ""
}}
foreach name {{{commands}}} {{ proc $name args "tell $name {{*}}\\$args; return $name" }}
foreach kind {{{objects}}} {{ proc get_bd_$kind name "tell get_bd_$kind \\$name; return \\$name" }}
foreach kind {{files runs}} {{ proc get_$kind name "return \\$name" }}
foreach kind {{project fileset}} {{ proc current_$kind {{}} "return current_$kind" }}
proc get_property {{name object}} {{ return [dict get {{{properties}}} $name] }}
"""


def calls_of(
    program: Path, *arguments: str, commands: Collection[str] = _COMMANDS, **properties: str
) -> tuple[list[Call], str]:
    """Run a program in OpenSTA's Tcl, in an interpreter that knows none of OpenSTA.

    Parameters
    ----------
    program, arguments : what would be its ``-source`` and its ``-tclargs``.
    commands, properties : what its tool has, and what ``get_property`` finds.

    Returns
    -------
    Its calls of these commands, and its error, empty without one.
    """
    known = {"PROGRESS": "100%", "OFFSET": "0xA0000000", **properties}
    prelude = _PRELUDE.format(
        commands=" ".join(commands),
        objects=" ".join(_OBJECTS),
        properties=" ".join(f"{name} {{{value}}}" for name, value in known.items()),
    )
    text = f"""
set tcl [interp create]
$tcl eval {{{prelude}}}
$tcl eval {{set argv [list {" ".join(f"{{{word}}}" for word in arguments)}]}}
if {{[catch {{$tcl eval {{source {{{program}}}}}}} text]}} {{ puts "error\\x1f$text" }}
"""
    sta = shutil.which("sta")
    assert sta is not None
    command = [sta, "-no_init", "-no_splash", "-exit", "/dev/stdin"]
    done = subprocess.run(command, input=text, text=True, capture_output=True, check=True)
    words = [line.rstrip("\x1f").split("\x1f") for line in done.stdout.splitlines()]
    calls = [call for call in words if call[0] in commands or call[0].startswith("get_bd_")]
    errors = [call[1] for call in words if call[0] == "error"]
    return calls, "".join(errors)


class Bus(NamedTuple):
    """An interface: ``aximm`` or ``axis``, and whether it begins transfers."""

    kind: str
    manager: bool


@dataclass
class Cell:
    """A block in a design.

    Parameters
    ----------
    parameters : legal values by name; None for any.
    shape : interfaces and pins, by the values of parameters; a pin is its kind and direction.
    segments : of its subordinate interfaces, by the paths under which they are assigned.
    spaces : interfaces whose addresses are in a space, by its name.
    free : pins that need not be connected.
    """

    parameters: Mapping[str, Sequence[str] | None]
    shape: Callable[[Mapping[str, str]], tuple[dict[str, Bus], dict[str, tuple[str, str]]]]
    segments: Mapping[str, str] = field(default_factory=dict)
    spaces: Mapping[str, str] = field(default_factory=dict)
    free: frozenset[str] = frozenset()
    values: dict[str, str] = field(default_factory=dict)

    @property
    def buses(self) -> dict[str, Bus]:
        return self.shape(self.values)[0]

    @property
    def pins(self) -> dict[str, tuple[str, str]]:
        return self.shape(self.values)[1]


_MM, _TO_MM = Bus("aximm", True), Bus("aximm", False)
_CLOCK, _RESET = ("clock", "in"), ("reset", "in")
_BITS = ("0", "1")


def _smartconnect() -> Cell:
    def shape(values: Mapping[str, str]) -> Any:
        ports = {f"S{n:02}_AXI": _TO_MM for n in range(int(values.get("NUM_SI", 2)))}
        ports |= {f"M{n:02}_AXI": _MM for n in range(int(values.get("NUM_MI", 1)))}
        return ports, {"aclk": _CLOCK, "aresetn": _RESET}

    sixteen = [str(n) for n in range(1, 17)]
    return Cell({"NUM_SI": sixteen, "NUM_MI": sixteen}, shape)


def _reset() -> Cell:
    pins = {
        "slowest_sync_clk": _CLOCK,
        "ext_reset_in": _RESET,
        "aux_reset_in": _RESET,
        "mb_debug_sys_rst": _RESET,
        "dcm_locked": ("data", "in"),
        "peripheral_aresetn": ("reset", "out"),
        "interconnect_aresetn": ("reset", "out"),
    }
    free = frozenset({"aux_reset_in", "mb_debug_sys_rst", "dcm_locked"})
    return Cell({}, lambda values: ({}, pins), free=free)


def _dma() -> Cell:
    def shape(values: Mapping[str, str]) -> Any:
        buses = {"S_AXI_LITE": _TO_MM}
        pins = {"s_axi_lite_aclk": _CLOCK, "axi_resetn": _RESET}
        if values.get("c_include_sg", "1") == "1":
            buses["M_AXI_SG"], pins["m_axi_sg_aclk"] = _MM, _CLOCK
        if values.get("c_include_mm2s", "1") == "1":
            buses |= {"M_AXI_MM2S": _MM, "M_AXIS_MM2S": Bus("axis", True)}
            pins |= {"m_axi_mm2s_aclk": _CLOCK, "mm2s_introut": ("interrupt", "out")}
        if values.get("c_include_s2mm", "1") == "1":
            buses |= {"M_AXI_S2MM": _MM, "S_AXIS_S2MM": Bus("axis", False)}
            pins |= {"m_axi_s2mm_aclk": _CLOCK, "s2mm_introut": ("interrupt", "out")}
        return buses, pins

    widths = [str(1 << n) for n in range(5, 11)]
    return Cell(
        {
            "c_include_sg": _BITS,
            "c_sg_include_stscntrl_strm": _BITS,
            "c_include_mm2s": _BITS,
            "c_include_s2mm": _BITS,
            "c_sg_length_width": [str(n) for n in range(8, 27)],
            "c_m_axi_mm2s_data_width": widths,
            "c_m_axis_mm2s_tdata_width": ["8", "16", *widths],
            "c_m_axi_s2mm_data_width": widths,
        },
        shape,
        {"S_AXI_LITE/Reg": "S_AXI_LITE"},
        {"Data_MM2S": "M_AXI_MM2S", "Data_S2MM": "M_AXI_S2MM"},
    )


def _zynq() -> Cell:
    def shape(values: Mapping[str, str]) -> Any:
        buses, pins = {}, {"FCLK_CLK0": ("clock", "out"), "FCLK_RESET0_N": ("reset", "out")}
        if values.get("PCW_USE_M_AXI_GP0", "1") == "1":
            buses["M_AXI_GP0"], pins["M_AXI_GP0_ACLK"] = _MM, _CLOCK
        if values.get("PCW_USE_S_AXI_HP0", "0") == "1":
            buses["S_AXI_HP0"], pins["S_AXI_HP0_ACLK"] = _TO_MM, _CLOCK
        if values.get("PCW_USE_FABRIC_INTERRUPT") == values.get("PCW_IRQ_F2P_INTR") == "1":
            pins["IRQ_F2P"] = ("interrupt", "in")
        return buses, pins

    names = ("USE_M_AXI_GP0", "USE_S_AXI_HP0", "USE_FABRIC_INTERRUPT", "IRQ_F2P_INTR")
    return Cell(
        {"PCW_FPGA0_PERIPHERAL_FREQMHZ": None, **{f"PCW_{name}": _BITS for name in names}},
        shape,
        {"S_AXI_HP0/HP0_DDR_LOWOCM": "S_AXI_HP0"},
        {"Data": "M_AXI_GP0"},
    )


def _zynq_ultrascale() -> Cell:
    def shape(values: Mapping[str, str]) -> Any:
        buses, pins = {}, {"pl_resetn0": ("reset", "out")}
        if values.get("PSU__FPGA_PL0_ENABLE") == "1":
            pins["pl_clk0"] = ("clock", "out")
        for number, name in enumerate(("HPM0_FPD", "HPM1_FPD", "HPM0_LPD")):
            if values.get(f"PSU__USE__M_AXI_GP{number}", "01"[number != 1]) == "1":
                buses[f"M_AXI_{name}"], pins[f"maxi{name.lower()}_aclk"] = _MM, _CLOCK
        if values.get("PSU__USE__S_AXI_GP2", "0") == "1":
            buses["S_AXI_HP0_FPD"], pins["saxihp0_fpd_aclk"] = _TO_MM, _CLOCK
        if values.get("PSU__USE__IRQ0", "1") == "1":
            pins["pl_ps_irq0"] = ("interrupt", "in")
        return buses, pins

    names = (
        "FPGA_PL0_ENABLE",
        "USE__M_AXI_GP0",
        "USE__M_AXI_GP1",
        "USE__M_AXI_GP2",
        "USE__S_AXI_GP2",
        "USE__IRQ0",
    )
    return Cell(
        {"PSU__CRL_APB__PL0_REF_CTRL__FREQMHZ": None, **{f"PSU__{name}": _BITS for name in names}},
        shape,
        {"SAXIGP2/HP0_DDR_LOW": "S_AXI_HP0_FPD"},
        {"Data": "M_AXI_HPM0_FPD"},
    )


_CATALOGUE: dict[str, Callable[[], Cell]] = {
    "xilinx.com:ip:smartconnect": _smartconnect,
    "xilinx.com:ip:proc_sys_reset": _reset,
    "xilinx.com:ip:axi_dma": _dma,
    "xilinx.com:ip:processing_system7": _zynq,
    "xilinx.com:ip:zynq_ultra_ps_e": _zynq_ultrascale,
}
_PROCESSORS = {
    "xilinx.com:bd_rule:processing_system7": "xilinx.com:ip:processing_system7",
    "xilinx.com:bd_rule:zynq_ultra_ps_e": "xilinx.com:ip:zynq_ultra_ps_e",
}


def block_of(component: Path) -> Cell:
    """See a block as its IP-XACT does; Vivado calls a segment of a module ``reg0``."""
    space = {"x": "http://www.accellera.org/XMLSchema/IPXACT/1685-2014"}
    root = ElementTree.parse(component).getroot()
    buses, pins, segments, spaces = {}, {}, {}, {}
    for one in root.findall("x:busInterfaces/x:busInterface", space):
        name = one.findtext("x:name", "", space)
        kind = one.find("x:busType", space).get("name", "")  # type: ignore[union-attr]
        manager = one.find("x:master", space) is not None
        if not kind.startswith("AXI"):
            pins[name] = kind, "out" if manager else "in"
            continue
        buses[name] = Bus("axis" if kind == "AXI4Stream" else "aximm", manager)
        if one.find("x:slave/x:memoryMapRef", space) is not None:
            segments[f"{name}/reg0"] = name
        if one.find("x:master/x:addressSpaceRef", space) is not None:
            spaces[name] = name
    return Cell({}, lambda values: (buses, pins), segments, spaces)


class Vivado:
    """Draws what a program's calls say; refuses what Vivado would.

    Parameters
    ----------
    modules : blocks by the names of their Verilog files without the ending.
    part : of the project, if it comes from a board.
    """

    def __init__(self, modules: Mapping[str, Cell], part: str = "") -> None:
        self.modules = modules
        self.part = part
        self.files: list[str] = []
        self.cells: dict[str, Cell] = {}
        self.vlnvs: dict[str, str] = {}
        self.links: list[tuple[str, str]] = []
        self.driver: dict[str, str] = {}
        self.assigned: list[tuple[str, str]] = []
        self.did: list[str] = []
        self.properties: dict[str, str] = {}

    def draw(self, calls: Sequence[Call]) -> None:
        """Do all calls, in order."""
        for name, *arguments in calls:
            if name.startswith("get_bd_"):
                self._find(name.removeprefix("get_bd_"), arguments[0])
                continue
            valued, bare = _COMMANDS[name]
            options: dict[str, str] = {}
            objects = []
            rest = iter(arguments)
            for word in rest:
                if not word.startswith("-"):
                    objects.append(word)
                elif word in valued:
                    options[word] = next(rest)
                else:
                    assert word in bare, f"{name} has no option {word}"
            self.did.append(name)
            getattr(self, f"_{name}", lambda options, *objects: None)(options, *objects)

    def _split(self, path: str) -> tuple[Cell, str]:
        name, _, rest = path.partition("/")
        return self.cells[name], rest

    def _find(self, kind: str, path: str) -> None:
        """Find an object, as the program does."""
        cell, rest = self._split(path)
        found: Any = {
            "cells": {""},
            "intf_pins": cell.buses,
            "pins": cell.pins,
            "addr_spaces": cell.spaces,
            "addr_segs": cell.segments,
        }[kind]
        assert rest in found, f"there is no {path}; there are {sorted(found)}"

    def _create_project(self, options: dict[str, str], name: str, folder: str) -> None:
        self.part = options.get("-part", self.part)

    def _add_files(self, options: dict[str, str], name: str) -> None:
        self.files.append(name)

    def _create_bd_cell(self, options: dict[str, str], name: str) -> None:
        assert name not in self.cells
        if options["-type"] == "module":
            module = options["-reference"]
            assert f"{module}.v" in [Path(file).name for file in self.files]
            self.cells[name] = self.modules[module]
        else:
            self.vlnvs[name] = options["-vlnv"]
            self.cells[name] = _CATALOGUE[options["-vlnv"]]()

    def _apply_bd_automation(self, options: dict[str, str], name: str) -> None:
        assert self.vlnvs[name] == _PROCESSORS[options["-rule"]]
        self.properties["automation"] = options["-config"]

    def _set_property(self, options: dict[str, str], *objects: str) -> None:
        if "-dict" not in options:
            name, value, _ = objects
            assert name in ("board_part", "top", "synth_checkpoint_mode")
            self.properties[name] = value
            return
        cell = self.cells[objects[0]]
        words = options["-dict"].split()
        for name, value in zip(words[::2], words[1::2], strict=True):
            legal = cell.parameters[name.removeprefix("CONFIG.")]
            assert legal is None or value in legal, f"{name} cannot be {value}"
            cell.values[name.removeprefix("CONFIG.")] = value

    def _connect_bd_intf_net(self, options: dict[str, str], *ends: str) -> None:
        (source, target) = ends
        begins, ends_ = (self._split(end)[0].buses[self._split(end)[1]] for end in ends)
        assert begins.manager, f"{source} does not begin transfers"
        assert not ends_.manager, f"{target} does"
        assert begins.kind == ends_.kind
        taken = {end for link in self.links for end in link}
        assert not taken & {source, target}, f"{source} or {target} is connected already"
        self.links.append((source, target))

    def _connect_bd_net(self, options: dict[str, str], *ends: str) -> None:
        (source, target) = ends
        kinds = [self._split(end)[0].pins[self._split(end)[1]] for end in ends]
        assert [way for _, way in kinds] == ["out", "in"], ends
        assert kinds[0][0] == kinds[1][0], ends
        assert target not in self.driver, f"{target} has two drivers"
        self.driver[target] = source

    def _assign_bd_address(self, options: dict[str, str], segment: str) -> None:
        pair = options["-target_address_space"], segment
        assert pair not in self.assigned
        self.assigned.append(pair)

    def _validate_bd_design(self, options: dict[str, str]) -> None:
        """Check that nothing hangs, and that every path has its addresses, and no other."""
        linked = [end for link in self.links for end in link]
        buses = [f"{name}/{bus}" for name, cell in self.cells.items() for bus in cell.buses]
        assert sorted(linked) == sorted(buses)
        inputs = {
            f"{name}/{pin}"
            for name, cell in self.cells.items()
            for pin, (_, way) in cell.pins.items()
            if way == "in" and pin not in cell.free
        }
        assert inputs == set(self.driver)
        self._check_addresses()

    def _check_addresses(self) -> None:
        """Follow every manager's transfers through interconnects."""
        reached = []
        for name, cell in self.cells.items():
            for space, bus in cell.spaces.items():
                for end in () if bus not in cell.buses else self._ends(f"{name}/{bus}"):
                    owner, port = self._split(end)
                    (segment,) = (s for s, its in owner.segments.items() if its == port)
                    reached.append((f"{name}/{space}", f"{end.partition('/')[0]}/{segment}"))
        assert sorted(reached) == sorted(self.assigned)

    def _ends(self, source: str) -> list[str]:
        """Find the subordinates behind a manager's interface."""
        (target,) = (end for start, end in self.links if start == source)
        name = target.partition("/")[0]
        if self.vlnvs.get(name) != "xilinx.com:ip:smartconnect":
            return [target]
        beyond = (f"{name}/{bus}" for bus, how in self.cells[name].buses.items() if how.manager)
        return [end for start in beyond for end in self._ends(start)]

    def _make_wrapper(self, options: dict[str, str]) -> None:
        assert re.search(r"validate_bd_design save_bd_design( \w+)*$", " ".join(self.did))
        assert options["-files"] == "system.bd"
