"""Formats by name, as a parameter of a spec or on the command line."""

import re
from dataclasses import dataclass
from typing import Any

from golden.check import Parameter
from golden.formats.block import BlockFormat
from golden.formats.element import ElementFormat
from golden.formats.integer import IntFormat
from golden.formats.minifloat import SHORT_NAMES, MinifloatFormat
from golden.formats.mx import MxFormat
from golden.formats.nvfp4 import NvFormat
from golden.formats.posit import PositFormat
from golden.formats.ue5m3 import Ue5m3Format

__all__ = ["FormatName", "FormatParameter", "minifloat", "parse"]

_INT = re.compile(r"(u?)int(\d+)(?:f(\d+))?")
_MINIFLOAT = re.compile(r"e(\d+)m(\d+)(ieee|nan|finite|fnuz)(?:_b(-?\d+))?")
_POSIT = re.compile(r"posit(\d+)e(\d+)")
_BLOCKS = re.compile(r"(mx|ue5m3)_(.+?)(?:_k(\d+))?")


@dataclass(frozen=True)
class FormatParameter(Parameter):
    """A number format; with `blocks`, also block formats."""

    blocks: bool = False

    @property
    def legal(self) -> str:
        """Legal names, as text."""
        elements = "a format such as int8, e4m3, bf16 or posit8e0"
        return (
            f"{elements}, or of blocks, such as mx_e4m3, ue5m3_int8 or nvfp4"
            if self.blocks
            else elements
        )

    def check(self, name: str, value: Any) -> Any:
        """Refuse other values."""
        kinds = (ElementFormat, BlockFormat) if self.blocks else (ElementFormat,)
        if not isinstance(value, kinds):
            raise self.refuse(name, value, TypeError)
        return value

    def parse(self, name: str, text: str) -> ElementFormat | BlockFormat:
        """Read the name of a format."""
        try:
            return FormatParameter.check(self, name, parse(text))
        except (TypeError, ValueError):
            raise self.refuse(name, text) from None


@dataclass(frozen=True)
class FormatName(FormatParameter):
    """A number format by its canonical name, as text."""

    def check(self, name: str, value: Any) -> Any:
        """Refuse other names."""
        if not isinstance(value, str):
            raise self.refuse(name, value, TypeError)
        if super().parse(name, value).name != value:
            raise self.refuse(name, value)
        return value

    def parse(self, name: str, text: str) -> Any:
        """Read a name; aliases become the canonical name."""
        return super().parse(name, text).name


def parse(name: str) -> ElementFormat | BlockFormat:
    """Return the format of that :attr:`name`; ValueError if there is none."""
    if name in SHORT_NAMES:
        exponent_bits, mantissa_bits, specials, bias_offset = SHORT_NAMES[name]
        return MinifloatFormat(
            exponent_bits=exponent_bits,
            mantissa_bits=mantissa_bits,
            specials=specials,
            bias_offset=bias_offset,
        )
    if name == "nvfp4":
        return NvFormat()
    if match := _INT.fullmatch(name):
        return IntFormat(
            width=int(match[2]), signed=not match[1], fraction_width=int(match[3] or 0)
        )
    if match := _MINIFLOAT.fullmatch(name):
        return MinifloatFormat(
            exponent_bits=int(match[1]),
            mantissa_bits=int(match[2]),
            specials=match[3],
            bias_offset=int(match[4] or 0),
        )
    if match := _POSIT.fullmatch(name):
        return PositFormat(width=int(match[1]), exponent_bits=int(match[2]))
    if match := _BLOCKS.fullmatch(name):
        element, block = parse(match[2]), int(match[3] or 32)
        if isinstance(element, ElementFormat):
            kind = MxFormat if match[1] == "mx" else Ue5m3Format
            return kind(element=element, block=block)
    raise ValueError(f"name must be that of a format, such as int8 or e4m3, not {name!r}")


def minifloat(name: str) -> MinifloatFormat:
    """Return the minifloat format of that :attr:`name`; ValueError if there is none."""
    fmt = parse(name)
    if not isinstance(fmt, MinifloatFormat):
        raise ValueError(f"name must be that of a minifloat format, such as fp16, not {name!r}")
    return fmt
