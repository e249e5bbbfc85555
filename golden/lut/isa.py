"""LPRE and LMMA: descriptors of 64 bits, assembler and disassembler.

``lpre.k4.int8.int t0, a1, m2, d64`` makes of 2 rows of 64 activations, int8, in a1, the tables of
four activations each, of integers, in t0. ``lmma.m2.n64.k4.int8.int.o2.int32.fp32 c1, t0, b3, c0``
multiplies by the weights of 2 bits on the odd grid in b3, adds c0, and puts the 2 x 64 sums into
c1, in fp32. Formats of activations stand in both, so that a unit without tables, in which t0 holds
the activations, can read lmma too.
"""

import re
from dataclasses import dataclass, fields
from typing import Any

from golden.check import Choice, Integer, check_fields, parameter, parameters_of

__all__ = [
    "OPCODE_WIDTH",
    "Lmma",
    "Lpre",
    "assemble",
    "code",
    "decode",
    "disassemble",
    "encode",
    "places",
]

_A = ("int4", "int8", "int16", "e4m3", "e5m2", "bf16", "fp16")
_TABLES = ("int", "int8", "int8p", "aligned", "float")
_WEIGHTS = ("s", "u", "o", "t")
_SUMS = ("int32", "fp32")
_RESULTS = ("int32", "fp32", "fp16", "int8")
_REGISTER = Integer("register", 0, 0, 63)
_ACTIVATIONS = Choice("activation format", "int8", _A)
_ENTRIES = Choice("entries of tables", "int", _TABLES)
_GROUP = Integer("activations per table", 4, 2, 5, "activations")


@dataclass(frozen=True, kw_only=True)
class Lpre:
    """Make tables of the activations in a register.

    Tables "int" are exact, of integers. "int8" and "int8p" are rounded to int8 with a scale of
    fp32, or a power of two, for 64 activations. "aligned", of floats, are exact tables of integers
    of 13 bits with one exponent for a row. "float", of fp16 and bf16, are of their format.
    """

    OPCODE = 1

    k: int = parameter(_GROUP)
    a: str = parameter(_ACTIVATIONS)
    table: str = parameter(_ENTRIES)
    rd: int = parameter(_REGISTER)
    rs: int = parameter(_REGISTER)
    m: int = parameter(Integer("rows", 1, 1, 256, "rows"))
    depth: int = parameter(Integer("activations of a row", 64, 1, 65536, "activations"))

    def __post_init__(self) -> None:
        """Check the fields, and that they go together."""
        check_fields(parameters_of(Lpre), vars(self))
        _check_table(self.a, self.table)


@dataclass(frozen=True, kw_only=True)
class Lmma:
    """Multiply tables by low-bit weights, and accumulate.

    Weights are two's complement (s), unsigned (u), on the odd grid (o) or ternary (t, of 2 bits:
    two planes of weight one). Sums of int32 are for tables of integers; they are added up modulo
    2^32.
    """

    OPCODE = 2

    m: int = parameter(Integer("rows", 1, 1, 256, "rows"))
    n: int = parameter(Integer("columns", 64, 1, 256, "columns"))
    k: int = parameter(_GROUP)
    a: str = parameter(_ACTIVATIONS)
    table: str = parameter(_ENTRIES)
    weights: str = parameter(Choice("weights", "s", _WEIGHTS))
    planes: int = parameter(Integer("bits of a weight", 2, 1, 8, "planes"))
    acc: str = parameter(Choice("format of sums", "int32", _SUMS))
    result: str = parameter(Choice("format of results", "int32", _RESULTS))
    rd: int = parameter(_REGISTER)
    ra: int = parameter(_REGISTER)
    rb: int = parameter(_REGISTER)
    rc: int = parameter(_REGISTER)

    def __post_init__(self) -> None:
        """Check the fields, and that they go together."""
        check_fields(parameters_of(Lmma), vars(self))
        _check_table(self.a, self.table)
        if self.weights == "t" and self.planes != 2:
            raise ValueError(f"planes must be 2 where weights are t, not {self.planes!r}")
        wanted = "int32" if self.table == "int" else "fp32"
        if self.acc != wanted:
            raise ValueError(f"acc must be {wanted} where table is {self.table}, not {self.acc!r}")
        if self.acc == "fp32" and self.result in ("int32", "int8"):
            raise ValueError(f"result must be fp32 or fp16 where acc is fp32, not {self.result!r}")

    @property
    def cycles_per_beat(self) -> int:
        """Cycles in which a beat of tables is looked up: a plane takes one."""
        return self.planes


# Bits of each field, lowest first, after the opcode's four.
_WIDTHS = {
    Lpre: {"k": 2, "a": 3, "table": 3, "rd": 6, "rs": 6, "m": 8, "depth": 16},
    Lmma: {"m": 8, "n": 8, "k": 2, "a": 3, "table": 3, "weights": 2, "planes": 3, "acc": 1,
           "result": 2, "rd": 6, "ra": 6, "rb": 6, "rc": 6},
}  # fmt: skip
OPCODE_WIDTH = 4
"""Bits of the opcode, the lowest of a descriptor."""
_LPRE = re.compile(r"lpre\.k(\w+)\.(\w+)\.(\w+)\s+t(\w+)\s*,\s*a(\w+)\s*,\s*m(\w+)\s*,\s*d(\w+)")
_LMMA = re.compile(
    r"lmma\.m(\w+)\.n(\w+)\.k(\w+)\.(\w+)\.(\w+)\.([a-z])(\w+)\.(\w+)\.(\w+)"
    r"\s+c(\w+)\s*,\s*t(\w+)\s*,\s*b(\w+)\s*,\s*c(\w+)"
)


def encode(operation: Lpre | Lmma) -> int:
    """Return the descriptor: opcode in bits 0..3, then the fields; what is left is 0.

    Numbers stand as how much more than their least they are, choices as their places.
    """
    word = operation.OPCODE
    for name, (start, _) in places(type(operation)).items():
        word |= code(type(operation), name, getattr(operation, name)) << start
    return word


def places(kind: type[Lpre] | type[Lmma]) -> dict[str, tuple[int, int]]:
    """Return the lowest bit of each field of a descriptor, and its bits."""
    starts, start = {}, OPCODE_WIDTH
    for name, width in _WIDTHS[kind].items():
        starts[name] = start, width
        start += width
    return starts


def code(kind: type[Lpre] | type[Lmma], name: str, value: Any) -> int:
    """Return the encoding of a field's value."""
    field = parameters_of(kind)[name]
    return field.options.index(value) if isinstance(field, Choice) else value - _low(field)


def decode(word: int) -> Lpre | Lmma:
    """Return the operation of a descriptor; refuse what is none."""
    kinds: dict[int, type[Lpre] | type[Lmma]] = {Lpre.OPCODE: Lpre, Lmma.OPCODE: Lmma}
    kind = kinds.get(word & (1 << OPCODE_WIDTH) - 1) if 0 <= word < 1 << 64 else None
    if kind is None:
        raise ValueError(f"word must be 64 bits with opcode 1 or 2, not {word:#x}")
    values: dict[str, object] = {}
    parameters = parameters_of(kind)
    end = OPCODE_WIDTH
    for name, (start, width) in places(kind).items():
        bits, end = word >> start & (1 << width) - 1, start + width
        parameter = parameters[name]
        if isinstance(parameter, Choice):
            if bits >= len(parameter.options):
                raise ValueError(
                    f"{name} must be coded 0..{len(parameter.options) - 1}, not {bits}"
                )
            values[name] = parameter.options[bits]
        else:
            values[name] = bits + _low(parameter)
    if word >> end:
        raise ValueError(f"word must be zeros behind its last field, not {word:#x}")
    return kind(**values)  # type: ignore[arg-type]


def assemble(text: str) -> list[int]:
    """Return the descriptors of a program: one operation a line; # begins a comment."""
    words = []
    for number, line in enumerate(text.splitlines(), start=1):
        source = line.partition("#")[0].strip()
        if not source:
            continue
        try:
            words.append(encode(_parse(source)))
        except (TypeError, ValueError) as error:
            raise ValueError(f"line {number}: {error}") from None
    return words


def disassemble(words: list[int]) -> str:
    """Return the program of descriptors, one operation a line."""
    return "".join(f"{_text(decode(word))}\n" for word in words)


def _parse(source: str) -> Lpre | Lmma:
    """Read an operation."""
    for kind, pattern, order in (
        (Lpre, _LPRE, ("k", "a", "table", "rd", "rs", "m", "depth")),
        (Lmma, _LMMA, tuple(field.name for field in fields(Lmma))),
    ):
        if match := pattern.fullmatch(source):
            parameters = parameters_of(kind)
            pairs = zip(order, match.groups(), strict=True)
            values = {name: parameters[name].parse(name, text) for name, text in pairs}
            return kind(**values)
    raise ValueError(
        "operation must be as lpre.k4.int8.int t0, a1, m2, d64 or "
        f"lmma.m2.n64.k4.int8.int.s2.int32.int32 c1, t0, b3, c0, not {source!r}"
    )


def _text(op: Lpre | Lmma) -> str:
    """Write an operation."""
    if isinstance(op, Lpre):
        return f"lpre.k{op.k}.{op.a}.{op.table} t{op.rd}, a{op.rs}, m{op.m}, d{op.depth}"
    return (
        f"lmma.m{op.m}.n{op.n}.k{op.k}.{op.a}.{op.table}.{op.weights}{op.planes}.{op.acc}."
        f"{op.result} c{op.rd}, t{op.ra}, b{op.rb}, c{op.rc}"
    )


def _low(kind: object) -> int:
    """Return the least value of a number."""
    assert isinstance(kind, Integer)
    return kind.low


def _check_table(a: str, table: str) -> None:
    """Refuse tables that there are not for these activations."""
    legal: tuple[str, ...] = ("aligned", "float") if a in ("bf16", "fp16") else ("aligned",)
    if a.startswith("int"):
        legal = ("int", "int8", "int8p")
    if table not in legal:
        raise ValueError(f"table must be one of {', '.join(legal)} for {a}, not {table!r}")
