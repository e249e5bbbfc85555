"""Pictures of horizontal bars, as SVG; without matplotlib, which takes a second to load."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import floor, log10

from hw.emit.user_files import shown

__all__ = ["Bars", "draw"]

_ROW, _LETTER, _TOP, _FOOT, _GAP = 14, 5.6, 30, 40, 24
_STYLE = (
    "text{font:10px sans-serif;fill:#222}.name,.tick{font-size:9px}.name{text-anchor:end}"
    ".tick,.axis{text-anchor:middle}path{stroke:#ddd;fill:none}"
)


@dataclass(frozen=True)
class Bars:
    """A column of bars, with an axis of its own.

    Members
    -------
    axis : what it has, with the unit.
    parts : values of all rows, for each part of a bar; parts are end to end.
    colours, names : of the parts.
    width : of the column, pixels.
    """

    axis: str
    parts: Sequence[Sequence[float]]
    colours: Sequence[str]
    names: Sequence[str]
    width: int

    @property
    def longest(self) -> float:
        """The longest bar."""
        return max((sum(row) for row in zip(*self.parts, strict=True)), default=0.0)


def draw(title: str, rows: Sequence[str], columns: Sequence[Bars]) -> bytes:
    """Draw bars, a row for each name, from the top down.

    Each bar has a title with its values. The same values give the same bytes.
    """
    origin = 12 + _LETTER * max(map(len, rows), default=0)
    high = _TOP + _ROW * len(rows) + _FOOT
    wide = round(origin + sum(one.width + _GAP for one in columns))
    parts = [
        f'<text x="{wide / 2:.0f}" y="16" style="text-anchor:middle">{escape(shown(title))}</text>'
    ]
    for number, name in enumerate(rows):
        at = _TOP + _ROW * number + 10
        parts.append(
            f'<text class="name" x="{origin - 6:.1f}" y="{at}">{escape(shown(name))}</text>'
        )
    left = origin
    for column in columns:
        parts += _column(column, rows, left)
        left += column.width + _GAP
    body = "".join(f"{part}\n" for part in parts)
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n'
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" width="{wide}"'
        f' height="{high}" role="img"><style>{_STYLE}</style>\n{body}</svg>\n'
    ).encode()


def _column(column: Bars, rows: Sequence[str], left: float) -> list[str]:
    """Draw a column whose bars begin at a place."""
    bottom = _TOP + _ROW * len(rows)
    scale = column.width / (column.longest or 1.0)
    parts = []
    for tick in _ticks(column.longest):
        at = f"{left + tick * scale:.1f}"
        parts.append(f'<path d="M{at} {_TOP}V{bottom}"/>')
        parts.append(f'<text class="tick" x="{at}" y="{bottom + 12}">{tick:,.12g}</text>')
    for number, name in enumerate(rows):
        x = left
        for values, colour, what in zip(column.parts, column.colours, column.names, strict=True):
            width = values[number] * scale
            parts.append(
                f'<rect x="{x:.1f}" y="{_TOP + _ROW * number + 2}" width="{width:.1f}"'
                f' height="{_ROW - 4}" fill="{colour}"><title>{escape(shown(name))}:'
                f" {values[number]:,.6g} {escape(what)}</title></rect>"
            )
            x += width
    middle = left + column.width / 2
    parts.append(
        f'<text class="axis" x="{middle:.1f}" y="{bottom + 28}">{escape(column.axis)}</text>'
    )
    return parts


def _ticks(longest: float) -> list[float]:
    """Return round numbers from 0 up to the longest bar: three to seven."""
    if longest <= 0:
        return [0.0]
    unit = 10.0 ** floor(log10(longest))
    step = next(unit * one for one in (2, 1, 0.5, 0.2) if longest / (unit * one) >= 2)
    return [step * number for number in range(int(longest / step + 1e-9) + 1)]
