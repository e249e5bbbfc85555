"""The register map from its SystemRDL source: fields, addresses, layouts in memory."""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from amaranth import Cat, Value
from amaranth.hdl import ShapeLike
from amaranth.lib import data

from golden.check import Integer

if TYPE_CHECKING:
    # Slow to load, and not needed before there is a map.
    from systemrdl.compiler import RDLCompiler
    from systemrdl.node import AddrmapNode, FieldNode, RegfileNode, RegNode

__all__ = [
    "EVERY",
    "HIGH",
    "MAP",
    "NamedCode",
    "MapField",
    "codes_of",
    "fields_of",
    "layout_of",
    "number_width",
    "numbered",
    "parameters_of",
    "register_map",
    "vector_numbers",
]

MAP = "carrysave_coprocessor"
_SOURCE = Path(__file__).with_name("coprocessor.rdl")
HIGH = {"index": "gather", "top_k": "transpose", "sigmoid": "silu", "blend": "multiply"}
"""Vector jobs whose number is that of another one, but for its fifth bit."""
EVERY = (("vector", 1), ("features", 1 << 12 | 1 << 21), ("more_features", 1 | 1 << 16 | 1 << 31))
"""Parameters of a map that has every register and field."""


class NamedCode(NamedTuple):
    """A named value of a field: an identifier, a name, a sentence."""

    value: int
    identifier: str
    name: str
    meaning: str


class MapField(NamedTuple):
    """One field: its name in hardware, such as ``ctrl_start``, its register and its properties."""

    name: str
    register: "RegNode"
    node: "FieldNode"

    @property
    def reset(self) -> int:
        """Reset value; 0 if the source has none."""
        value = self.node.get_property("reset")
        return value if isinstance(value, int) else 0

    @property
    def kind(self) -> str:
        """Implementation: "constant", "wire" (no storage) or "stored"."""
        events = any(self.has(name) for name in ("hwset", "hwclr", "we"))
        if self.node.is_sw_writable or events:
            return "stored"
        return "wire" if self.node.is_hw_writable else "constant"

    @property
    def plain(self) -> bool:
        """Whether only software changes it."""
        special = ("hwset", "hwclr", "we", "onread", "onwrite")
        return self.node.is_sw_writable and not any(self.has(name) for name in special)

    @property
    def codes(self) -> list[NamedCode]:
        """Names of its values, if they have any."""
        return [
            NamedCode(
                int(member), member.name, member.rdl_name or member.name, member.rdl_desc or ""
            )
            for member in self.node.get_property("encode") or ()
        ]

    def of(self, part: data.View) -> Value:
        """Extract the field from a part of the map, see :func:`layout_of`."""
        start = 8 * self.register.address_offset + self.node.low
        return part.as_value()[start : start + self.node.width]

    def property(self, name: str) -> str | None:
        """Return the name of a property's value, of those that it can have."""
        value = self.node.get_property(name)
        return None if value is None else str(value.name)

    def has(self, name: str) -> bool:
        """Return whether a property of the SystemRDL source is set."""
        return bool(self.node.get_property(name))


@cache
def parameters_of() -> dict[str, Integer]:
    """Parameters of the map: the values of a build's discovery registers."""
    widths = {"features": 32, "hash": 64, "vector": 31}
    return {
        name: Integer("see the register of this name", 0, 0, (1 << widths.get(name, 32)) - 1)
        for name in _compile(MAP, EVERY).parameters
    }


def register_map(parameters: Mapping[str, int], *, name: str = MAP) -> "AddrmapNode":
    """Compile the map of one build.

    Parameters
    ----------
    parameters : a value for each of :func:`parameters_of`.
    name : the map's name in exported files.

    Raises
    ------
    TypeError
        A name is missing or unknown, or a value is not an integer.
    ValueError
        A value does not fit its register, or a name is not an identifier.
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
    """Elaborate the source; cached per build, because nodes are never modified."""
    return _compiler().elaborate(MAP, name, dict(parameters)).top


@cache
def _compiler() -> "RDLCompiler":
    """Read the source, once for all builds: each gets a copy of what is in it."""
    from systemrdl.compiler import RDLCompiler

    compiler = RDLCompiler()
    compiler.compile_file(str(_SOURCE))
    return compiler


def fields_of(part: "AddrmapNode | RegfileNode") -> Iterator[MapField]:
    """List the fields of a map, or of a part of it, by address."""
    from systemrdl.node import FieldNode

    for node in part.descendants():
        if isinstance(node, FieldNode):
            path = [name.lower() for name in node.parent.get_path_segments()[1:]]
            leaf = [] if node.inst_name == "value" else [node.inst_name]
            yield MapField("_".join(path + leaf), node.parent, node)


@cache
def codes_of(field: str) -> dict[str, int]:
    """List the named values of a field, by their identifiers."""
    enumerated = next(each for each in fields_of(_compile(MAP, EVERY)) if each.name == field)
    return {code.identifier: code.value for code in enumerated.codes}


@cache
def layout_of(name: str) -> data.FlexibleLayout:
    """Return the memory layout of a part of the map; ``X_LO`` and ``X_HI`` become ``x``."""
    from systemrdl.node import RegfileNode

    part = _compile(MAP, EVERY).get_child_by_name(name)
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


def vector_numbers() -> dict[str, int]:
    """Return the numbers of vector jobs, by names; requantised shares are divided.

    A number has a fifth bit, `listed` in registers.
    """
    codes = codes_of("job_mode_vector")
    high = {name: codes[low] + 16 for name, low in HIGH.items()}
    return {**codes, "divide": codes["exps"], **high}


def numbered(operations: Iterable[str], mode: Any) -> Value:
    """Return the number of a job's operation, with its fifth bit if any operation built has it."""
    number: Value = Cat(mode.vector, mode.listed)[: number_width(operations)]
    return number


def number_width(operations: Iterable[str]) -> int:
    """Return the bits of the numbers of operations."""
    return 4 + (not HIGH.keys().isdisjoint(operations))
