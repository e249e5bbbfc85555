"""Elements with operands and sums beyond the catalogue's, of the same generators."""

from collections.abc import Mapping
from dataclasses import dataclass, make_dataclass, replace
from functools import cache, cached_property
from typing import Any

from golden.check import Integer, parameter, parameters_of
from golden.formats.integer import IntFormat
from golden.pe.mac import MacSpec
from hw.catalog import CATALOG, Design, Entry
from hw.unknown import nearest

__all__ = ["ELEMENTS", "HIGHEST", "WideDesign", "wide_spec"]

ELEMENTS = ("mac", "opt1", "opt2")
"""Designs of one element between two streams that take a pair of operands a cycle, or k."""
HIGHEST = {"a_width": 64, "b_width": 64, "accumulator_width": 160}
"""Bits, beyond those of the catalogue, whose twins compute in int64."""


@dataclass(frozen=True, kw_only=True)
class WideFormat(IntFormat):
    """An integer of any width, of which no code is ever an int64."""

    def __post_init__(self) -> None:
        """Check nothing: widths are those of a spec."""


class _WideFormats(MacSpec):
    """Formats of operands of any width, of which numpy has no integers."""

    @property
    def a_format(self) -> IntFormat:
        """Format of operand a."""
        return WideFormat(width=self.a_width, signed=self.a_signed)

    @property
    def b_format(self) -> IntFormat:
        """Format of operand b."""
        return WideFormat(width=self.b_width, signed=self.b_signed)


@cache
def wide_spec(spec: type[MacSpec]) -> Any:
    """Return a spec of the same parameters, of which those of :data:`HIGHEST` may be larger."""
    fields = []
    for name, kind in parameters_of(spec).items():
        if isinstance(kind, Integer) and name in HIGHEST:
            kind = replace(kind, high=HIGHEST[name])
        fields.append((name, type(kind.default), parameter(kind)))
    bases = (_WideFormats, spec)
    return make_dataclass(f"Wide{spec.__name__}", fields, bases=bases, frozen=True, kw_only=True)


@dataclass(frozen=True, kw_only=True)
class _WideEntry(Entry):
    """An entry of the catalogue with a spec of wider ranges."""

    @property
    def spec(self) -> Any:
        """The class of its spec."""
        return wide_spec(super().spec)


class WideDesign(Design):
    """One of :data:`ELEMENTS` with all its parameters, at any width that is proven.

    Its Verilog is that of the catalogue's design wherever there is one.
    """

    @cached_property
    def entry(self) -> Entry:
        """The entry of the catalogue, with wider ranges."""
        entry = CATALOG[self.name]
        return _WideEntry(name=entry.name, stage=entry.stage, number=entry.number)

    @classmethod
    def of(cls, name: str, texts: Mapping[str, str]) -> "WideDesign":
        """Make a design from parameters as text."""
        kinds = cls(name).entry.parameters
        for key in texts:
            if key not in kinds:
                raise nearest(key, kinds, f"parameter of {name}")
        return cls(name, {key: kinds[key].parse(key, text) for key, text in texts.items()})
