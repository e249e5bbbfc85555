"""The block as an IP-XACT component (IEEE 1685-2014): buses, ports, registers, files."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from carrysave.ip.facts import Facts, version_of
from hw.emit.bus_interfaces import Interface

__all__ = ["component"]

_SPACE = "http://www.accellera.org/XMLSchema/IPXACT/1685-2014"

_BUSES = {
    "AXI4": ("amba.com", "AMBA4", "AXI4", "r0p0"),
    "AXI4LITE": ("amba.com", "AMBA4", "AXI4-Lite", "r0p0"),
    "AXI4STREAM": ("amba.com", "AMBA4", "AXI4Stream", "r0p0_1"),
    "clock": ("xilinx.com", "signal", "clock", "1.0"),
    "reset": ("xilinx.com", "signal", "reset", "1.0"),
    "interrupt": ("xilinx.com", "signal", "interrupt", "1.0"),
}
"""Vendor, library, name and version of the definitions; ``<name>_rtl`` is the abstraction."""

_TYPES = {
    ".v": "verilogSource",
    ".h": "cSource",
    ".c": "cSource",
    ".sdc": "SDC",
    ".tcl": "tclSource",
}


def component(block: Facts, registers: Path, files: Mapping[str, Sequence[str]]) -> str:
    """Write the component.

    Parameters
    ----------
    block : the co-processor.
    registers : the IP-XACT of its register map, whose memory map is included.
    files : names of files, by set.
    """
    ElementTree.register_namespace("ipxact", _SPACE)
    root = Element(_tag("component"))
    _identity(root, "carrysave", "carrysave", block.module, version_of())
    buses = SubElement(root, _tag("busInterfaces"))
    maps = ElementTree.parse(registers).getroot().find(_tag("memoryMaps"))
    assert maps is not None
    memory_map = maps.findtext(f"{_tag('memoryMap')}/{_tag('name')}")
    assert memory_map is not None
    for interface in block.emission.interfaces:
        _bus(buses, interface, memory_map)
    for master in block.interfaces("AXI4"):
        space = SubElement(SubElement(root, _tag("addressSpaces")), _tag("addressSpace"))
        _text(space, "name", f"{master.name}_space")
        _text(space, "range", f"'h{1 << block.spec.address_width:x}")
        _text(space, "width", str(block.spec.data_width))
    root.append(maps)
    _model(root, block)
    sets = SubElement(root, _tag("fileSets"))
    for name, members in files.items():
        file_set = SubElement(sets, _tag("fileSet"))
        _text(file_set, "name", name)
        for member in members:
            file = SubElement(file_set, _tag("file"))
            _text(file, "name", member)
            kind = _TYPES.get(Path(member).suffix)
            if kind is None:
                _text(file, "fileType", "user").set("user", Path(member).suffix.lstrip("."))
            else:
                _text(file, "fileType", kind)
    _text(root, "description", block.design.entry.summary)
    ElementTree.indent(root)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        + ElementTree.tostring(root, encoding="unicode")
        + "\n"
    )


def _bus(parent: Element, interface: Interface, memory_map: str) -> None:
    """Describe an interface: its definition, its ports, its role."""
    bus = SubElement(parent, _tag("busInterface"))
    _text(bus, "name", interface.name)
    names = dict(zip(("vendor", "library", "name", "version"), _BUSES[interface.kind], strict=True))
    SubElement(bus, _tag("busType"), names)
    kind = SubElement(SubElement(bus, _tag("abstractionTypes")), _tag("abstractionType"))
    SubElement(kind, _tag("abstractionRef"), {**names, "name": f"{names['name']}_rtl"})
    ports = SubElement(kind, _tag("portMaps"))
    for logical, physical in interface.ports.items():
        pair = SubElement(ports, _tag("portMap"))
        _text(SubElement(pair, _tag("logicalPort")), "name", logical)
        _text(SubElement(pair, _tag("physicalPort")), "name", physical)
    role = SubElement(bus, _tag("slave" if interface.inward else "master"))
    if interface.kind == "AXI4LITE":
        SubElement(role, _tag("memoryMapRef"), {"memoryMapRef": memory_map})
    if interface.kind == "AXI4":
        space = {"addressSpaceRef": f"{interface.name}_space"}
        SubElement(role, _tag("addressSpaceRef"), space)
    parameters = SubElement(bus, _tag("parameters"))
    for name, value in interface.parameters.items():
        parameter = SubElement(
            parameters,
            _tag("parameter"),
            {
                "parameterId": f"{interface.name}.{name}",
                "type": "int" if isinstance(value, int) else "string",
            },
        )
        _text(parameter, "name", name)
        _text(parameter, "value", str(value) if isinstance(value, int) else f'"{value}"')


def _model(root: Element, block: Facts) -> None:
    """Describe the Verilog: its module and ports."""
    model = SubElement(root, _tag("model"))
    view = SubElement(SubElement(model, _tag("views")), _tag("view"))
    _text(view, "name", "rtl")
    _text(view, "envIdentifier", "::")
    _text(view, "componentInstantiationRef", "verilog")
    instantiation = SubElement(
        SubElement(model, _tag("instantiations")), _tag("componentInstantiation")
    )
    _text(instantiation, "name", "verilog")
    _text(instantiation, "language", "verilog")
    _text(instantiation, "moduleName", block.module)
    _text(SubElement(instantiation, _tag("fileSetRef")), "localName", "rtl")
    ports = SubElement(model, _tag("ports"))
    for port in block.emission.ports:
        one = SubElement(ports, _tag("port"))
        _text(one, "name", port["name"])
        wire = SubElement(one, _tag("wire"))
        _text(wire, "direction", {"input": "in", "output": "out"}[port["direction"]])
        if port["width"] > 1:
            vector = SubElement(SubElement(wire, _tag("vectors")), _tag("vector"))
            _text(vector, "left", str(port["width"] - 1))
            _text(vector, "right", "0")


def _identity(root: Element, *values: str) -> None:
    for name, value in zip(("vendor", "library", "name", "version"), values, strict=True):
        _text(root, name, value)


def _text(parent: Element, name: str, text: str) -> Element:
    child = SubElement(parent, _tag(name))
    child.text = text
    return child


def _tag(name: str) -> str:
    return f"{{{_SPACE}}}{name}"
