"""LUT unit: executes a stream of LPRE and LMMA descriptors on a LUT core."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from golden.check import Choice, Integer, check_fields, parameter, parameters_of
from golden.lut.execute import Machine, execute
from golden.lut.isa import OPCODE_WIDTH, Lmma, Lpre, code, decode, places
from golden.lut.ternary import two_planes
from golden.tpe.lut_core import LutCoreSpec
from golden.tpe.lut_tables import LutTablesSpec

__all__ = ["RESULTS", "LutUnitSpec", "Traffic", "lut_unit"]

RESULTS = ("int32", "int8")
"""Result formats of a unit."""


_KINDS: dict[str, type[Lpre] | type[Lmma]] = {"lpre": Lpre, "lmma": Lmma}


@dataclass(frozen=True, kw_only=True)
class LutUnitSpec:
    """Numbered registers of integer tables, and a LUT core that looks up bit planes in them.

    Table size and activation format are fixed. Rows, columns, activations per row and bits per
    weight are maxima; each descriptor sets the actual numbers.
    """

    m: int = parameter(Integer("maximum rows of C", 2, 1, 64, "rows"))
    n: int = parameter(Integer("maximum columns of C", 64, 1, 256, "columns"))
    group: int = parameter(Integer("activations per table", 4, 2, 5, "activations"))
    lookups: int = parameter(Integer("tables looked up per cycle", 4, 1, 32, "tables"))
    activations: str = parameter(Choice("activation format", "int8", ("int4", "int8", "int16")))
    planes: int = parameter(Integer("maximum bits of a weight", 4, 1, 8, "planes"))
    k_max: int = parameter(Integer("maximum activations per row", 64, 1, 1 << 16, "activations"))
    registers: int = parameter(Integer("table registers", 2, 1, 64, "registers"))

    def __post_init__(self) -> None:
        """Check all fields."""
        check_fields(parameters_of(LutUnitSpec), vars(self))

    @property
    def a_width(self) -> int:
        """Bits of an activation."""
        return int(self.activations.removeprefix("int"))

    @property
    def k(self) -> int:
        """Activations per row and beat."""
        return self.group * self.lookups

    @property
    def beats(self) -> int:
        """Beats of the longest row."""
        return -(-self.k_max // self.k)

    @property
    def core(self) -> LutCoreSpec:
        """The core: one bit plane at a time, on the odd grid."""
        return self._core(1)

    @property
    def made(self) -> LutTablesSpec:
        """The table generator."""
        return self.core.made

    def _core(self, planes: int) -> LutCoreSpec:
        return LutCoreSpec(
            m=self.m,
            n=self.n,
            group=self.group,
            lookups=self.lookups,
            a_width=self.a_width,
            b_width=planes,
            b_signed=False,
            k_max=self.k_max,
            table="half",
            weights="odd",
            generator="external",
            order="outer" if planes > 1 else "inner",
        )

    @property
    def fields(self) -> dict[str, dict[str, tuple[int, int]]]:
        """Lowest bit and width of all fields of "lpre" and "lmma"; `rest` are the bits above."""
        fields = {}
        for name, kind in _KINDS.items():
            starts = {"opcode": (0, OPCODE_WIDTH), **places(kind)}
            end = max(start + width for start, width in starts.values())
            fields[name] = starts | {"rest": (end, 64 - end)}
        return fields

    @property
    def demanded(self) -> dict[str, dict[str, int]]:
        """Required values of fields of "lpre" and "lmma" for operations of this unit."""
        values = {"k": self.group, "a": self.activations, "table": "int"}
        demanded = {
            name: {"opcode": kind.OPCODE, "rest": 0}
            | {field: code(kind, field, value) for field, value in values.items()}
            for name, kind in _KINDS.items()
        }
        demanded["lmma"]["acc"] = code(Lmma, "acc", "int32")
        return demanded

    @property
    def results(self) -> dict[str, int]:
        """Codes of results."""
        return {result: code(Lmma, "result", result) for result in RESULTS}

    @property
    def weights(self) -> dict[str, int]:
        """Codes of the weight kinds: two's complement, unsigned, on the odd grid, trits."""
        return {weights: code(Lmma, "weights", weights) for weights in "suot"}

    def check(self, operation: Lpre | Lmma) -> None:
        """Refuse an operation that this unit does not support."""
        asked: dict[str, tuple[object, Sequence[object]]] = {
            "k": (operation.k, [self.group]),
            "a": (operation.a, [self.activations]),
            "table": (operation.table, ["int"]),
        }
        most = {"m": (operation.m, self.m)}
        if isinstance(operation, Lpre):
            most |= {"depth": (operation.depth, self.k_max)}
            most |= {"rd": (operation.rd, self.registers - 1)}
        else:
            asked["result"] = operation.result, RESULTS
            most |= {"n": (operation.n, self.n), "planes": (operation.planes, self.planes)}
            most |= {"ra": (operation.ra, self.registers - 1)}
        for name, (value, legal) in asked.items():
            if value not in legal:
                raise ValueError(f"{name} must be {' or '.join(map(str, legal))}, not {value}")
        for name, (number, limit) in most.items():
            if number > limit:
                raise ValueError(f"{name} must be at most {limit}, not {number}")

    def a_beats(self, a: np.ndarray) -> np.ndarray:
        """Arrange rows of activations as zero-padded beats: beats x (m k)."""
        padded = np.pad(a, ((0, self.m - len(a)), (0, -a.shape[1] % self.k)))
        return padded.reshape(self.m, -1, self.k).swapaxes(0, 1).reshape(-1, self.m * self.k)

    def b_beats(self, operation: Lmma, b: np.ndarray) -> np.ndarray:
        """Arrange weights as beats of key bits, most significant plane first: beats x (k n)."""
        low = {"s": -1 << operation.planes - 1}.get(operation.weights, 0)
        trits = operation.weights == "t"
        codes = np.pad(b - low if not trits else b, ((0, 0), (0, self.n - b.shape[1])))
        planes = two_planes(codes) if trits else (codes,)
        bits = self._core(1 if trits else operation.planes)
        return np.concatenate([
            bits.b_patterns(plane).reshape(-1, self.k * self.n) for plane in planes
        ])


@dataclass(frozen=True, kw_only=True, eq=False)
class Traffic:
    """The data on a unit's streams for one operation.

    Members
    -------
    a : activations, beats x (m k).
    b : bits of keys, beats x (k n).
    before : C to add, int32, rows x n.
    after : results, rows x columns of the operation; the other columns of n are undefined.
    """

    a: np.ndarray
    b: np.ndarray
    before: np.ndarray
    after: np.ndarray


def lut_unit(spec: LutUnitSpec, words: Sequence[int], machine: Machine) -> Iterator[Traffic]:
    """Execute descriptors, and return the stream data of each.

    Parameters
    ----------
    spec : the unit.
    words : descriptors, see :mod:`golden.lut.isa`.
    machine : registers; modified, see :func:`golden.lut.execute.execute`.
    """
    for number, word in enumerate(words):
        operation = decode(word)
        try:
            spec.check(operation)
        except ValueError as error:
            raise ValueError(f"operation {number}: {error}") from None
        none = np.zeros((0, spec.n), np.int64)
        traffic = Traffic(
            a=np.zeros((0, spec.m * spec.k), np.int64),
            b=np.zeros((0, spec.k * spec.n), np.int64),
            before=none,
            after=none,
        )
        if isinstance(operation, Lpre):
            execute([word], machine)
            yield replace(traffic, a=spec.a_beats(machine.a[operation.rs]))
            continue
        before = np.pad(machine.c.get(operation.rc, none), ((0, 0), (0, spec.n - operation.n)))
        execute([word], machine)
        b, after = spec.b_beats(operation, machine.b[operation.rb]), machine.c[operation.rd]
        yield replace(traffic, b=b, before=before, after=after)
