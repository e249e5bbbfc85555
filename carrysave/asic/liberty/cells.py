"""Reads Liberty cell libraries and finds in them the cells that a flow needs."""

import contextlib
import errno
import functools
import hashlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatch
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from carrysave import cache
from carrysave.asic.liberty import generic as generic_library
from carrysave.asic.liberty.cell import Cell, Pin, Register
from carrysave.asic.liberty.facts import facts_of
from carrysave.asic.liberty.text import uncommented
from hw.emit import tools, user_files, yosys
from hw.emit.naming import naming
from hw.emit.user_files import FileError, shown

__all__ = [
    "LIB",
    "Cell",
    "Library",
    "Pin",
    "Register",
    "cell_models",
    "default",
    "generic",
    "osu018",
]

LIB = "cells.lib"
"""What tools see a library as."""

# Set-up takes this one file out of Debian's package, which would install 200 others with it.
OSU018 = [
    Path(root) / "share/qflow/tech/osu018/osu018_stdcells.lib" for root in (sys.prefix, "/usr")
]

# Cells that a Liberty file offers like any other but that logic synthesis must not take, by
# pattern of the library's name: power-domain cells, antenna and probe cells, cells that exist for
# hold fixing and clock trees, scan and enable flip-flops, tri-states.
DONT_USE = {
    "sky130_*": (
        "*__lpflow_*",
        "*__probe*",
        "*__macro*",
        "*__dly*",
        "*__clkdly*",
        "*__clkbuf*",
        "*__clkinv*",
        "*__[es]df*",
        "*__sed*",
        "*__ebuf*",
        "*__einv*",
    ),
    "gf180mcu_*": ("*__dly*", "*__clk*", "*__sdf*", "*__bufz*", "*__invz*", "*__hold*"),
    "sg13g2_*": ("*_dlygate*", "*_sdf*", "*_slgcp*", "*_ebufn*", "*_einvn*", "*_sighold*"),
    "osu0*": ("CLKBUF*", "TBUF*", "PAD*"),
}

_SHOWN = 20  # cells in one note
_FORMAT = 8  # of what is cached; raise it with any change of the classes of cells


@dataclass(frozen=True)
class Library:
    """The facts of one Liberty file that synthesis and timing need.

    Attributes
    ----------
    data : the uncompressed file, as it was read.
    sha : its SHA-256.
    time_unit, capacitance_unit : seconds and farads per unit of the file.
    corner : process, voltage (V), temperature (degrees C) and name of the operating conditions.
    relative : whether areas are in gate equivalents and times in FO4, not in um2 and ns.
    corners : the same cells under other conditions; the slowest of all sets the period.
    odd : cells of the file that are left out: name, line and reason.
    others : cells that are legal and left out, as tools stop at them: keepers of buses, pads.
    cuts : places of what is left out, in the text without comments.
    file : what the user calls it, if it is from a file.
    """

    data: bytes = field(repr=False)
    name: str
    sha: str
    time_unit: float
    capacitance_unit: float
    corner: dict[str, float | str | None]
    cells: dict[str, Cell]
    relative: bool = False
    corners: "tuple[Library, ...]" = ()
    odd: tuple[tuple[str, int, str], ...] = ()
    others: tuple[str, ...] = ()
    cuts: tuple[tuple[int, int], ...] = ()
    file: str | None = None

    @classmethod
    def load(cls, path: Path | str, *corners: Path | str) -> "Library":
        """Read a ``.lib`` or ``.lib.gz`` file, and those of other corners.

        Raises
        ------
        FileNotFoundError
            If there is no such file.
        FileError
            If it is not a Liberty library with cells.
        ValueError
            If another corner has not the same cells and pins.
        """
        return cls._joined([cls._load(Path(one)) for one in (path, *corners)])

    @classmethod
    def _load(cls, path: Path) -> "Library":
        try:
            data = user_files.read(path, unzip=True, text=True)
        except FileNotFoundError:
            raise FileNotFoundError(errno.ENOENT, "Liberty file not found", str(path)) from None
        try:
            return replace(cls.of(data), file=shown(str(path)))
        except ValueError as error:
            raise FileError(path, error) from None

    @classmethod
    def of(cls, data: bytes, unwanted: Sequence[str] = ()) -> "Library":
        """Read the text of a Liberty file; ValueError if it is none with cells.

        Parameters
        ----------
        unwanted : names of cells to leave out.
        """
        facts = cache.remembered(
            "liberty",
            [str(_FORMAT), data, *unwanted],
            lambda: facts_of(data.decode("utf-8", "replace"), unwanted),
        )
        cells = {cell["name"]: Cell.from_plain(cell) for cell in facts.pop("cells")}
        odd, cuts = (tuple(map(tuple, facts.pop(name))) for name in ("odd", "cuts"))
        return cls(
            data=data,
            sha=hashlib.sha256(data).hexdigest(),
            cells=cells,
            odd=odd,
            cuts=cuts,
            others=tuple(facts.pop("others")),
            **facts,
        )

    @classmethod
    def _joined(cls, libraries: "Sequence[Library]") -> "Library":
        """Return the first with the others as its corners; what is odd in one is in none."""
        odd = {
            name
            for one in libraries
            for name in (*(row[0] for row in one.odd), *one.others)
            if name not in one.cells
        }
        first, *others = (
            replace(cls.of(one.data, unwanted), file=one.file)
            if (unwanted := sorted(odd & set(one.cells)))
            else one
            for one in libraries
        )
        for other in others:
            first.check_corner(other)
        return replace(first, corners=tuple(others)) if others else first

    def plain(self, file: Callable[[Path], Any]) -> dict[str, Any]:
        """Return it as an argument of a job; `file` makes one of a path: :class:`jobs.File`."""
        paths = [_cached(library.data, library.sha) for library in (self, *self.corners)]
        _known[(*paths,), self.relative] = self
        return {"files": [file(path) for path in paths], "relative": self.relative}

    @staticmethod
    def of_plain(plain: Mapping[str, Any]) -> "Library":
        """Return the library of what :meth:`plain` returned, with paths in place of files."""
        key = tuple(plain["files"]), plain["relative"]
        return _known.get(key) or _loaded(*key)

    def check_corner(self, other: "Library") -> None:
        """Refuse a library whose cells and pins are others."""
        ours, theirs = (
            {(cell.name, pin.name) for cell in one.cells.values() for pin in cell.pins}
            for one in (self, other)
        )
        if ours != theirs:
            name, pin = min(ours ^ theirs)
            raise ValueError(
                f"corners must have the same cells, not {other.name!r} beside {self.name!r}: one of"
                f" them has {pin} of {name}"
            )

    @property
    def units(self) -> tuple[str, str]:
        """Units of areas and of times, in words."""
        return ("GE", "FO4") if self.relative else ("um2", "ns")

    @property
    def notes(self) -> list[str]:
        """What is left out of the file, and of those of other corners, for people."""
        skipped: dict[tuple[str, str], list[str]] = {}
        for one in (self, *self.corners):
            for name, line, reason in one.odd:
                skipped.setdefault((one.called, reason), []).append(f"{name} (line {line})")
        for name in self.others:
            skipped.setdefault((self.called, "legal, but no gates of plain pins"), []).append(name)
        return [
            f"{of}: cell{'s' * (len(names) > 1)} {', '.join(names[:_SHOWN])}"
            f"{f' and {more} more' * (more > 0)} left out: {reason}"
            for (of, reason), names in skipped.items()
            for more in [len(names) - _SHOWN]
        ]

    @functools.cached_property
    def text(self) -> str:
        """The file's text; what is left out of it leaves its lines empty."""
        text = self.data.decode("utf-8", "replace")
        if not self.cuts:
            return text
        plain, _ = uncommented(text)
        pieces, position = [], 0
        for start, end in self.cuts:
            pieces += [plain[position:start], "\n" * plain.count("\n", start, end)]
            position = end
        return "".join([*pieces, plain[position:]])

    @functools.cached_property
    def key(self) -> str:
        """Its part of the keys of caches: SHA-256 of what tools read."""
        return hashlib.sha256(self.text.encode()).hexdigest() if self.cuts else self.sha

    @contextlib.contextmanager
    def placed(self, folder: Path) -> Iterator[None]:
        """Put it into a folder of a tool, as :data:`LIB`; errors name the user's file."""
        (folder / LIB).write_bytes(self.text.encode() if self.cuts else self.data)
        with naming({LIB: self.called}):
            yield

    @property
    def called(self) -> str:
        """What messages call it: its file; or its name, in jobs, which do not depend on that."""
        return self.file or self.name

    @functools.cached_property
    def dont_use(self) -> list[str]:
        """Names of the cells that must not be mapped to, sorted."""
        rows = [globs for pattern, globs in DONT_USE.items() if fnmatch(self.name, pattern)]
        globs = [glob for row in rows for glob in row]
        return sorted(
            name
            for name, cell in self.cells.items()
            if cell.dont_use or any(fnmatch(name, glob) for glob in globs)
        )

    def with_table(self, *tables: tuple[int, ...]) -> list[Cell]:
        """Return usable cells whose outputs compute exactly the tables, smallest first."""
        cells = []
        for cell in self.cells.values():
            if cell.name in self._banned or len(cell.outputs) != len(tables):
                continue
            if sorted(cell.table(pin) or () for pin in cell.outputs) == sorted(tables):
                cells.append(cell)
        return sorted(cells, key=lambda cell: (cell.area, cell.name))

    @functools.cached_property
    def _banned(self) -> frozenset[str]:
        return frozenset(self.dont_use)

    @functools.cached_property
    def nand2(self) -> Cell:
        """The smallest two-input NAND, the gate of "gate equivalents"."""
        gates = [cell for cell in self.with_table((1, 1, 1, 0)) if cell.area]
        return _first(gates, self, "two-input NAND with an area")

    @functools.cached_property
    def driver(self) -> Cell:
        """The buffer that drives primary inputs: the one nearest twice the smallest inverter."""
        inverter = _first(self.with_table((1, 0)), self, "inverter")
        buffers = self.with_table((0, 1))
        _first(buffers, self, "buffer")
        unit = inverter.outputs[0].max_capacitance
        if not unit or any(cell.outputs[0].max_capacitance is None for cell in buffers):
            return buffers[min(1, len(buffers) - 1)]
        return min(buffers, key=lambda cell: abs((cell.outputs[0].max_capacitance or 0) / unit - 2))

    @property
    def load_ff(self) -> float:
        """Load on primary outputs, in fF: three inputs of the smallest two-input NAND."""
        return round(3 * max(pin.capacitance for pin in self.nand2.inputs), 3)

    @functools.cached_property
    def ties(self) -> tuple[tuple[str, str], tuple[str, str]] | None:
        """(cell, pin) that drives 1 and (cell, pin) that drives 0; None if there are none."""
        ties: dict[int, tuple[str, str]] = {}
        for cell in sorted(self.cells.values(), key=lambda cell: (cell.area, cell.name)):
            if cell.inputs or cell.name in self._banned:
                continue
            for pin in cell.outputs:
                table = cell.table(pin)
                if table:
                    ties.setdefault(table[0], (cell.name, pin.name))
        return (ties[1], ties[0]) if len(ties) == 2 else None

    @functools.cached_property
    def clock_gate(self) -> Cell | None:
        """The smallest integrated clock gate for rising-edge flip-flops without a test pin."""
        gates = [
            cell
            for cell in self.cells.values()
            if cell.gate
            and cell.gate["style"] == "latch_posedge"
            and "test" not in cell.gate
            and cell.name not in self._banned
        ]
        return min(gates, key=lambda cell: (cell.area, cell.name)) if gates else None

    @functools.cached_property
    def full_adder(self) -> Cell | None:
        """The smallest full adder."""
        adders = self.with_table((0, 1, 1, 0, 1, 0, 0, 1), (0, 0, 0, 1, 0, 1, 1, 1))
        return adders[0] if adders else None

    def areas(self, counts: dict[str, int]) -> tuple[float, float]:
        """Return (sequential, combinational) area in um2 of the given numbers of cells."""
        sequential = combinational = 0.0
        for name, count in counts.items():
            cell = self.cells[name]
            if cell.sequential:
                sequential += count * cell.area
            else:
                combinational += count * cell.area
        return sequential, combinational


def _write(path: Path, data: bytes) -> None:
    path.write_bytes(data)


def _cached(data: bytes, sha: str) -> Path:
    """Return a file of the cache with the text of a library."""
    folder = cache.entry("libraries", [sha], lambda folder: _write(folder / LIB, data))
    return folder / LIB


_known: "WeakValueDictionary[tuple[tuple[Path, ...], bool], Library]" = WeakValueDictionary()
"""Libraries that are there in this process, by their files."""


@functools.lru_cache(maxsize=4)
def _loaded(files: tuple[Path, ...], relative: bool) -> Library:
    """Return a library as it was when :meth:`Library.plain` made files of it.

    It takes long to read, and thousands of jobs have the same.
    """
    library = Library._joined([Library.of(path.read_bytes()) for path in files])
    return replace(library, relative=relative)


def _first(cells: list[Cell], library: Library, what: str) -> Cell:
    if not cells:
        said = "".join(f"; {note}" for note in library.notes)
        raise ValueError(f"library must have a usable {what}, not {library.name!r}{said}")
    return cells[0]


def default() -> str:
    """Return ``osu018`` if it is there, else ``generic``, which needs nothing of the system."""
    return "osu018" if any(path.is_file() for path in OSU018) else "generic"


@functools.cache
def generic() -> Library:
    """Return the library of :mod:`carrysave.asic.liberty.generic`, in gate equivalents and FO4."""
    return replace(Library.of(generic_library.text().encode()), relative=True)


def osu018() -> Library:
    """Return the default library, Oregon State University's 0.18 um cells.

    Raises
    ------
    FileNotFoundError
        If Debian's package is missing; the text has the command that installs it.
    """
    for path in OSU018:
        if path.is_file():
            return Library.load(path)
    raise FileNotFoundError(
        f"osu018 library not found at {OSU018[0]}: run `make setup` in a checkout,"
        " or `sudo apt-get install qflow-tech-osu018`, or name a Liberty file"
    )


def cell_models(library: Library) -> str:
    """Return Verilog modules that compute what the library's cells do, without delays.

    Combinational cells, flip-flops and latches as Yosys reads them from the Liberty file;
    integrated clock gates as a latch and an AND (their ``state_function`` is beyond Yosys).
    """
    gates = [cell for cell in library.cells.values() if cell.gate]

    def make() -> str:
        with tools.workplace() as folder, library.placed(folder):
            yosys.run(
                "\n".join([
                    "read_liberty -ignore_miss_func -ignore_miss_dir -ignore_miss_data_latch"
                    f" -ignore_buses {LIB}",
                    *(f"delete {yosys.word(cell.name)}" for cell in gates),
                    "proc",
                    "write_verilog -noattr cells.v",
                ]),
                cwd=folder,
            )
            text = (folder / "cells.v").read_text()
        return text + "".join(map(_gate_model, gates))

    return cache.remembered("models", [library.key, yosys.version()], make)


def _gate_model(cell: Cell) -> str:
    assert cell.gate is not None
    clock, out = cell.gate["clock"], cell.gate["out"]
    enable = " | ".join(cell.gate[role] for role in ("enable", "test") if role in cell.gate)
    ports = ", ".join(
        f"{pin.direction} {pin.name}" for pin in cell.pins if pin.direction in {"input", "output"}
    )
    transparent, gated = f"!{clock}", f"{clock} & enabled"
    if "negedge" in cell.gate["style"]:
        transparent, gated = clock, f"{clock} | ~enabled"
    return (
        f"\nmodule {cell.name}({ports});\n  reg enabled;\n"
        f"  always @* if ({transparent}) enabled = {enable};\n"
        f"  assign {out} = {gated};\nendmodule\n"
    )
