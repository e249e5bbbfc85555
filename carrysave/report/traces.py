"""Signals of a VCD file over some time."""

import io
import mmap
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from vcd.reader import TokenKind, tokenize

from hw.emit.user_files import FileError

__all__ = ["Trace", "read"]

_PIECE = 1 << 24
_UNITS = {"s": 1e9, "ms": 1e6, "us": 1e3, "ns": 1.0, "ps": 1e-3, "fs": 1e-6}


@dataclass(frozen=True)
class Trace:
    """A signal over some time.

    Members
    -------
    name : with its scope below the first one.
    width : bits.
    changes : time, ns, and value from then on: bits as text, the highest first, of ``01xz``. The
        first has the time that the trace begins.
    """

    name: str
    width: int
    changes: tuple[tuple[float, str], ...]


def read(path: Path, start: float, end: float, signals: Sequence[str] | None = None) -> list[Trace]:
    """Read signals of a VCD file over some time.

    The time is looked up in the file, which is not read as a whole, however large it is.

    Parameters
    ----------
    path : of the file.
    start, end : the time, ns.
    signals : names, with their scope below the first one, such as ``column0.en``; None: all of the
        first scope that has any: the ports of the top module, of Verilator's files.

    Raises
    ------
    FileError
        It is no VCD file, or has no such signal.
    """
    with path.open("rb") as file:
        if not file.seek(0, io.SEEK_END):
            raise FileError(path, "must be a VCD file, not empty")
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            unit, declared, ports, body = _header(path, data)
            chosen = _chosen(path, declared, ports if signals is None else signals)
            codes = {code for code, _ in chosen.values()}
            first, last = (_offset(data, body, time / unit) for time in (start, end))
            changes = {
                code: [(start, value)] for code, value in _before(data, body, first, codes).items()
            }
            now = start
            for time, code, value in _changes(data[first:last], codes):
                if time is not None:
                    now = max(time * unit, start)
                    continue
                history = changes[code]
                if now == history[-1][0]:
                    history.pop()
                history.append((now, value))
    return [
        Trace(name, width, tuple((at, _bits(value, width)) for at, value in changes[code]))
        for name, (code, width) in chosen.items()
    ]


Declared = dict[str, tuple[str, int]]
"""Names, each with the code of the signal in the file, and its bits."""


def _header(path: Path, data: mmap.mmap) -> tuple[float, Declared, list[str], int]:
    """Read what comes before the changes.

    Returns
    -------
    The unit of time, ns; the signals; those of the first scope that has any; and where the changes
    begin, with the end of a line.
    """
    end = data.find(b"$enddefinitions")
    body = data.find(b"\n", end)
    if end < 0 or body < 0:
        raise FileError(path, "must be a VCD file, with $enddefinitions")
    unit, scope, declared = 1.0, list[str](), Declared()
    first: tuple[list[str], list[str]] | None = None
    # Scopes that Verilator makes up have names that the reader takes for keywords.
    text = re.sub(rb"(\$scope\s+\w+\s+)\$", rb"\1", data[: body + 1])
    try:
        for token in tokenize(io.BytesIO(text)):
            match token.kind:
                case TokenKind.TIMESCALE:
                    unit = token.timescale.magnitude.value * _UNITS[token.timescale.unit.value]
                case TokenKind.SCOPE:
                    scope.append(token.scope.ident)
                case TokenKind.UPSCOPE:
                    scope.pop()
                case TokenKind.VAR if token.var.type_.value not in ("real", "string", "event"):
                    name = ".".join([*scope[1:], token.var.reference])
                    declared.setdefault(name, (token.var.id_code, token.var.size))
                    first = first or (scope[:], [])
                    if scope == first[0]:
                        first[1].append(name)
    except Exception as error:  # any: the reader may raise anything for bytes it did not expect
        raise FileError(path, error) from None
    return unit, declared, first[1] if first else [], body


def _chosen(path: Path, declared: Declared, signals: Sequence[str]) -> Declared:
    """Return the signals that are asked for."""
    if not declared:
        raise FileError(path, "must declare signals")
    for name in signals:
        if name not in declared:
            raise FileError(path, f"has no signal {name!r}")
    return {name: declared[name] for name in signals}


def _offset(data: mmap.mmap, body: int, time: float) -> int:
    """Return where the first time begins that is not before another, in the file's unit."""
    low, high = body, len(data)
    while low < high:
        middle = (low + high) // 2
        at = data.find(b"\n#", middle, high + 1)
        if at >= 0 and int(data[at + 2 : data.find(b"\n", at + 2)]) < time:
            low = at + 1
        else:
            high = middle
    at = data.find(b"\n#", low)
    return at + 1 if at >= 0 else len(data)


def _changes(data: bytes, codes: Collection[str]) -> Iterator[tuple[int | None, str, str]]:
    """Yield the times, and after each the changes of some signals: (time, "", ""), (None, ...)."""
    names = "|".join(map(re.escape, codes)).encode()
    line = rb"^(?:#(\d+)|[bB]([01xzXZ]+) +(%b)|([01xzXZ])(%b)) *\r?$" % (names, names)
    for match in re.finditer(line, data, re.MULTILINE):
        time, vector, code, scalar, scalar_code = (
            text.decode() if text else "" for text in match.groups()
        )
        yield (
            (int(time), "", "") if time else (None, code or scalar_code, (vector or scalar).lower())
        )


def _before(data: mmap.mmap, body: int, end: int, codes: Collection[str]) -> dict[str, str]:
    """Return the last values of signals before a place in the file; ``x`` of those without one.

    A reset may have changed last at the beginning of a large file: so bytes are searched, piece by
    piece from the end, and no line is taken apart but those that end as the wanted ones do.
    """
    values: dict[str, str] = {}
    line_end = b"\r\n" if data[body - 1 : body] == b"\r" else b"\n"
    while end > body and len(values) < len(codes):
        start = max(data.rfind(b"\n", body, max(end - _PIECE, body + 1)), body)
        piece = data[start:end]
        for code in codes:
            if code not in values and (value := _last(piece, code.encode() + line_end)):
                values[code] = value
        end = start + 1 if start > body else body
    return {code: values.get(code, "x") for code in codes}


def _last(piece: bytes, ending: bytes) -> str | None:
    """Return the last value in whole lines, of the signal with the lines' ending."""
    at = piece.rfind(ending)
    while at >= 0:
        begin = piece.rfind(b"\n", 0, at) + 1
        line = piece[begin:at]
        if len(line) == 1 and line in b"01xzXZ":
            return line.decode().lower()
        if line[:1] in (b"b", b"B") and line.endswith(b" "):
            return line[1:].strip().decode().lower()
        at = piece.rfind(ending, 0, at)
    return None


def _bits(value: str, width: int) -> str:
    """Return all bits of a value: files leave out leading zeros, and repeats of x and z."""
    return value.rjust(width, "0" if value[0] == "1" else value[0])
