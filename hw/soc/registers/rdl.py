"""The register map as its SystemRDL source states it: fields, addresses, layouts in memory."""

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from amaranth import Value
from amaranth.hdl import ShapeLike
from amaranth.lib import data

from golden.check import Integer

if TYPE_CHECKING:
    # Slow to load, and not needed before there is a map.
    from systemrdl.node import AddrmapNode, FieldNode, RegfileNode, RegNode

__all__ = [
    "MAP",
    "NamedCode",
    "MapField",
    "codes_of",
    "fields_of",
    "layout_of",
    "parameters_of",
    "register_map",
]

MAP = "carrysave_coprocessor"
_SOURCE = Path(__file__).with_name("coprocessor.rdl")


class NamedCode(NamedTuple):
    """A value of a field that has a name: an identifier, a name in words, a sentence."""

    value: int
    identifier: str
    name: str
    meaning: str


class MapField(NamedTuple):
    """One field: its name in hardware, such as ``ctrl_start``, and its register and properties."""

    name: str
    register: "RegNode"
    node: "FieldNode"

    @property
    def reset(self) -> int:
        """Value after reset; 0 where the source has none."""
        value = self.node.get_property("reset")
        return value if isinstance(value, int) else 0

    @property
    def kind(self) -> str:
        """What it is made of: "constant", "wire" (no storage) or "stored"."""
        events = any(self.has(name) for name in ("hwset", "hwclr", "we"))
        if self.node.is_sw_writable or events:
            return "stored"
        return "wire" if self.node.is_hw_writable else "constant"

    @property
    def plain(self) -> bool:
        """Whether all that happens to it is that software writes it."""
        special = ("hwset", "hwclr", "we", "onread", "onwrite")
        return self.node.is_sw_writable and not any(self.has(name) for name in special)

    @property
    def codes(self) -> list[NamedCode]:
        """What its values are called, if they have names."""
        return [
            NamedCode(
                int(member), member.name, member.rdl_name or member.name, member.rdl_desc or ""
            )
            for member in self.node.get_property("encode") or ()
        ]

    def of(self, part: data.View) -> Value:
        """Take the field's bits from the registers of a part of the map, see :func:`layout_of`."""
        start = 8 * self.register.address_offset + self.node.low
        return part.as_value()[start : start + self.node.width]

    def property(self, name: str) -> str | None:
        """Name the value of a property that is one of a few."""
        value = self.node.get_property(name)
        return None if value is None else str(value.name)

    def has(self, name: str) -> bool:
        """Say whether a property of the SystemRDL source is set."""
        return bool(self.node.get_property(name))


@cache
def parameters_of() -> dict[str, Integer]:
    """Parameters of the map: what the discovery registers say of a build."""
    widths = {"features": 11, "hash": 64}
    return {
        name: Integer("see the register of this name", 0, 0, (1 << widths.get(name, 32)) - 1)
        for name in _compile(MAP, ()).parameters
    }


def register_map(parameters: Mapping[str, int], *, name: str = MAP) -> "AddrmapNode":
    """Compile the map of one build.

    Parameters
    ----------
    parameters : a value for each of :func:`parameters_of`.
    name : what exported files call the map.

    Raises
    ------
    TypeError
        A name that is missing or is none of the map's, or a value that is no integer.
    ValueError
        A value that its register cannot hold, or a name that is no identifier.
    """
    kinds = parameters_of()
    if parameters.keys() != kinds.keys():
        raise TypeError(f"parameters must be {', '.join(kinds)}, not {', '.join(parameters)}")
    for key, kind in kinds.items():
        kind.check(key, parameters[key])
    if not (name.isascii() and name.isidentifier()):
        raise ValueError(f"name must be an identifier, not {name!r}")
    return _compile(name, tuple((key, parameters[key]) for key in kinds))


@cache
def _compile(name: str, parameters: tuple[tuple[str, int], ...]) -> "AddrmapNode":
    """Compile the source; once for each build, because a node is never changed."""
    from systemrdl.compiler import RDLCompiler

    compiler = RDLCompiler()
    compiler.compile_file(str(_SOURCE))
    return compiler.elaborate(MAP, name, dict(parameters)).top


def fields_of(part: "AddrmapNode | RegfileNode") -> Iterator[MapField]:
    """List the fields of a map, or of a part of it, by address."""
    from systemrdl.node import FieldNode

    for node in part.descendants():
        if isinstance(node, FieldNode):
            path = [name.lower() for name in node.parent.get_path_segments()[1:]]
            own = [] if node.inst_name == "value" else [node.inst_name]
            yield MapField("_".join(path + own), node.parent, node)


@cache
def codes_of(field: str) -> dict[str, int]:
    """List the values of a field that have names, by their identifiers."""
    found = next(each for each in fields_of(_compile(MAP, ())) if each.name == field)
    return {code.identifier: code.value for code in found.codes}


def layout_of(name: str) -> data.FlexibleLayout:
    """Lay out a part of the map as it lies in memory; ``X_LO`` and ``X_HI`` are ``x``."""
    from systemrdl.node import RegfileNode

    part = _compile(MAP, ()).get_child_by_name(name)
    assert isinstance(part, RegfileNode)
    members: dict[int | str, data.Field] = {}
    for register in part.registers():
        offset = 8 * register.address_offset
        fields: dict[int | str, data.Field] = {
            node.inst_name: data.Field(node.width, node.low) for node in register.fields()
        }
        shape: ShapeLike = (
            fields["value"].shape if "value" in fields else data.FlexibleLayout(32, fields)
        )
        whole, _, half = register.inst_name.lower().rpartition("_")
        if half == "hi":
            shape, offset = 64, members[whole].offset
        elif half != "lo":
            whole = register.inst_name.lower()
        members[whole] = data.Field(shape, offset)
    return data.FlexibleLayout(8 * part.size, members)
