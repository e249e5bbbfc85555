"""Waves as a picture: signals over some time."""

from collections.abc import Sequence
from html import escape
from itertools import pairwise
from pathlib import Path
from statistics import median

from carrysave.report.traces import Trace, read
from hw.emit.user_files import shown

__all__ = ["around", "draw"]

_CLOCKS = ("clk", "aclk")
_PERIOD = 10.0
"""Of the clock, ns, where none is found."""


def around(
    path: Path, time: float, *, cycles: int = 24, signals: Sequence[str] | None = None
) -> bytes:
    """Draw the clock cycles before a time, ns, such as that of a failure, and one after, as SVG.

    Parameters
    ----------
    path, signals : as of :func:`carrysave.report.traces.read`.
    cycles : of the signal that is called ``clk`` or ``aclk``; of 10 ns without one.
    """
    clocks = [
        trace
        for trace in read(path, max(time - 100 * _PERIOD, 0), time, signals)
        if trace.name in _CLOCKS
    ]
    edges = _edges(clocks[0]) if clocks else []
    periods = [later - sooner for sooner, later in pairwise(edges)]
    period = median(periods) if periods else _PERIOD
    start, end = max(time - cycles * period, 0), time + period
    return draw(read(path, start, end, signals), start, end, mark=time, period=period)


def _edges(trace: Trace) -> list[float]:
    """Return the times at which a clock rises."""
    return [time for time, value in trace.changes[1:] if value == "1"]


_ROW, _HIGH, _TOP, _CYCLE = 28, 18, 26, 38
_LETTER = 6.7
"""Pixels of a character."""
_LONGEST = 24
"""Characters of a name."""
_STYLE = """
.waves { font: 11px ui-monospace, "DejaVu Sans Mono", monospace; }
.waves text { fill: var(--ink, #1c2128); }
.waves .time { fill: var(--soft, #57606a); }
.waves .name { text-anchor: end; }
.waves .grid { stroke: var(--line, #d0d7de); stroke-width: 1; }
.waves .bit, .waves .bus { stroke: var(--c0, #0a6ebd); stroke-width: 1.4; fill: none; }
.waves .bus { fill: var(--card, #f6f8fa); }
.waves .unknown { stroke: var(--bad, #b42318); fill: var(--bad, #b42318); fill-opacity: .18; }
.waves .mark { stroke: var(--bad, #b42318); stroke-width: 1.5; stroke-dasharray: 4 3; }
.waves .said { fill: var(--bad, #b42318); font-weight: 600; }
"""


def draw(
    traces: Sequence[Trace],
    start: float,
    end: float,
    *,
    mark: float | None = None,
    period: float = _PERIOD,
) -> bytes:
    """Draw traces as SVG, with the colours of a page, see :class:`carrysave.report.page.Picture`.

    Vectors are hexadecimal; each value has a title with its time and all of its digits.

    Parameters
    ----------
    traces : from the top down, below the clock.
    start, end : time, ns.
    mark : time, ns, of a line across all of them.
    period : of the clock, ns, for the width and the grid; a grid line is there whenever it rises.
    """
    scale = _CYCLE / period
    traces = sorted(traces, key=lambda trace: trace.name not in _CLOCKS)
    names = [
        one.name if len(one.name) <= _LONGEST else f"…{one.name[1 - _LONGEST :]}" for one in traces
    ]
    origin = round(14 + max(map(len, names), default=0) * _LETTER)
    wide, high = round(origin + (end - start) * scale + 16), _TOP + _ROW * len(traces) + 8

    def x(time: float) -> float:
        return round(origin + (min(max(time, start), end) - start) * scale, 1)

    clocks = [trace for trace in traces if trace.name in _CLOCKS]
    times = _edges(clocks[0]) if clocks else []
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="page-colours" viewBox="0 0 {wide} {high}"'
        f' width="{wide}" height="{high}" role="img"><style>{_STYLE}</style><g class="waves">'
    ]
    for number, time in enumerate(times):
        parts.append(f'<path class="grid" d="M{x(time)} {_TOP - 6}V{high - 4}"/>')
        if number % 4 == 0 and (mark is None or abs(x(time) - x(mark)) > 12 * _LETTER):
            parts.append(f'<text class="time" x="{x(time)}" y="14">{_time(time)}</text>')
    for number, trace in enumerate(traces):
        top = _TOP + _ROW * number
        parts.append(
            f'<text class="name" x="{origin - 8}" y="{top + 14}">{escape(shown(names[number]))}'
            f"<title>{escape(shown(trace.name))}, {trace.width} bits</title></text>"
        )
        ends = [*(time for time, _ in trace.changes[1:]), end]
        for (time, value), until in zip(trace.changes, ends, strict=True):
            if x(until) > x(time):
                said = f"<title>{escape(shown(trace.name))} = {_digits(value)}, {_time(time)}"
                parts += _span(
                    trace.width, value, x(time), x(until), top, time > start, f"{said}</title>"
                )
    if mark is not None:
        parts.append(f'<path class="mark" d="M{x(mark)} {_TOP - 6}V{high - 4}"/>')
        parts.append(
            f'<text class="said" x="{x(mark) + 4}" y="14" text-anchor="end">{_time(mark)}</text>'
        )
    return ("".join(parts) + "</g></svg>").encode()


def _span(
    width: int, value: str, left: float, right: float, top: float, edge: bool, said: str
) -> list[str]:
    """Draw one value of a signal: a line, with the edge before it if there is one, or a box."""
    low = top + _HIGH
    unknown = " unknown" if set(value) & {"x", "z"} else ""
    if width == 1 and not unknown:
        level, other = (top, low) if value == "1" else (low, top)
        rise = f"M{left} {other}V{level}" if edge else ""
        return [f'<path class="bit" d="{rise}M{left} {level}H{right}">{said}</path>']
    middle, slope = (top + low) / 2, min(3.0, (right - left) / 2)
    shape = (
        f"M{left} {middle}L{left + slope:.1f} {top}H{right - slope:.1f}L{right} {middle}"
        f"L{right - slope:.1f} {low}H{left + slope:.1f}Z"
    )
    parts = [f'<path class="bus{unknown}" d="{shape}">{said}</path>']
    digits, room = _digits(value), int((right - left - 8) / _LETTER)
    if len(digits) > room:
        digits = f"…{digits[1 - room :]}" if room > 2 else ""
    if digits:
        parts.append(
            f'<text x="{left + 5:.1f}" y="{top + 13}" pointer-events="none">{digits}</text>'
        )
    return parts


def _time(time: float) -> str:
    return f"{round(time, 1):,.12g} ns"


def _digits(value: str) -> str:
    """Write bits in hexadecimal; a digit of which any bit is x is x."""
    wide = value.rjust(-(-len(value) // 4) * 4, "0")
    groups = [wide[at : at + 4] for at in range(0, len(wide), 4)]
    return "".join(
        f"{int(bits, 2):x}" if set(bits) <= {"0", "1"} else "x" if "x" in bits else "z"
        for bits in groups
    )
