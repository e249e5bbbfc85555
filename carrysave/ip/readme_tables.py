"""Tables of a pack's README: ports, registers, error codes; from hardware and register map."""

from collections.abc import Iterable, Sequence

from carrysave.ip.facts import Facts
from hw.soc.registers.rdl import MapField, fields_of

__all__ = ["access", "errors", "ports", "registers", "table"]


_PROTOCOLS = {"AXI4": "AXI4", "AXI4LITE": "AXI4-Lite", "AXI4STREAM": "AXI4-Stream"}


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Write a table in Markdown."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def ports(block: Facts) -> str:
    """List ports with the interfaces that they belong to."""
    owners = {
        port: (interface.kind, interface.name, logical)
        for interface in block.emission.interfaces
        for logical, port in interface.ports.items()
    }
    rows = []
    for port in block.emission.ports:
        kind, name, logical = owners[port["name"]]
        belongs = port["is"]
        if kind in _PROTOCOLS:
            belongs = f"{logical} of `{name}` ({_PROTOCOLS[kind]})"
        rows.append((f"`{port['name']}`", port["direction"], str(port["width"]), belongs))
    return table(("port", "direction", "bits", "is"), rows)


def registers(block: Facts) -> str:
    """List fields by address, as software sees them."""
    rows = []
    for field in fields_of(block.registers):
        node = field.node
        name = ".".join(field.register.get_path_segments()[1:])
        bits = str(node.low) if node.width == 1 else f"{node.high}:{node.low}"
        whole = node.inst_name == "value"
        meaning = node.get_property("desc") or field.register.get_property("desc") or ""
        rows.append((
            f"{field.register.absolute_address:#05x}",
            name if whole else f"{name}.{node.inst_name}",
            bits,
            access(field),
            "-" if field.kind == "wire" else f"{field.reset:#x}",
            " ".join(meaning.split()),
        ))
    return table(("address", "field", "bits", "access", "reset", "meaning"), rows)


def errors(block: Facts) -> str:
    """List the error codes of a start."""
    (field,) = (one for one in fields_of(block.registers) if one.name == "error_code")
    codes = field.node.get_property("encode")
    assert codes is not None
    rows = [
        (str(int(code)), code.rdl_name or code.name, " ".join((code.rdl_desc or "").split()))
        for code in codes
    ]
    return table(("code", "name", "meaning"), rows)


_EFFECTS = {
    "onwrite": {"woset": "writing 1 sets", "woclr": "writing 1 clears", "wot": "writing 1 toggles"},
    "onread": {"rclr": "reading clears"},
}


def access(field: MapField) -> str:
    """Describe the software access of a field."""
    parts = ["read, write" if field.node.is_sw_writable else "read"]
    for name, texts in _EFFECTS.items():
        effect = field.node.get_property(name)
        if effect is not None:
            parts.append(texts[effect.name])
    if field.has("swwel"):
        parts.append("while idle")
    return "; ".join(parts)
