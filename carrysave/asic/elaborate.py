"""Reads a design, and decides which of its modules are mapped once each."""

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from carrysave import cache
from carrysave.asic.clocking import roots
from hw.emit import tools, yosys
from hw.emit.sources import Sources

__all__ = ["HIERARCHIES", "Elaborated", "elaborate", "gates", "hierarchies", "kept_modules"]

FORMAT = 10  # of all cached files of synthesis; raise it with any change of what they hold


@dataclass(frozen=True)
class Elaborated:
    """A design after ``proc``: its file, its ports and what each module holds.

    Modules, ports and instances have names that every tool takes as they are; ``names`` has what
    their source calls those that it calls otherwise. ``inputs`` are the inputs of one bit; clocks
    and asynchronous resets come from where :class:`carrysave.asic.clocking.Roots` says.
    ``findings`` are what is to be said of the sources, see :mod:`hw.emit.constructs`.
    """

    rtlil: Path
    top: str
    ports: dict[str, str]
    modules: dict[str, dict[str, int]]
    names: dict[str, str]
    inputs: list[str]
    clocks: list[list[str]]
    asynchronous: list[str]
    findings: list[str]

    def port(self, name: str) -> str | None:
        """Return our name of a port of the top module; None if there is none."""
        ours = {self.names.get(port, port): port for port in self.ports}
        return ours.get(name)


def elaborate(
    files: Sequence[Path], top: str, parameters: Mapping[str, str] = MappingProxyType({})
) -> Elaborated:
    """Read Verilog (``.v``, ``.sv``) or RTLIL (``.il``) and resolve its hierarchy.

    Parameters
    ----------
    parameters : of the top module, in place of its own values.

    Raises
    ------
    FileNotFoundError
        If a source file does not exist.
    SourceError
        If Yosys refuses the sources, or has no module ``top`` in them.
    """
    sources = Sources.read(files, parameters)
    folder = cache.entry(
        "synth/elaborated",
        [str(FORMAT), yosys.version(), top, *sources.contents],
        lambda folder: _elaborate(sources, top, folder),
    )
    facts = json.loads((folder / "facts.json").read_text())
    return Elaborated(rtlil=folder / "design.il", **facts)


def _elaborate(sources: Sources, top: str, folder: Path) -> None:
    """Write ``design.il`` and its facts into a folder."""
    with tools.workplace() as work:
        design = sources.design(top, work, "memory", "opt_clean")
        yosys.run("read_rtlil design.il\ntee -q -o stat stat -width -json", cwd=work)
        shutil.copy(work / "design.il", folder)
        kinds = cell_types(json.loads((work / "stat").read_text()))
        text = (work / "design.json").read_text(errors="replace")
        clock_roots = roots(json.loads(text)["modules"], order(kinds, design.top))
        facts = {
            "top": design.top,
            "ports": {name: port["direction"] for name, port in design.ports.items()},
            "modules": kinds,
            "names": design.names,
            "inputs": [
                name
                for name, port in design.ports.items()
                if port["direction"] == "input" and len(port["bits"]) == 1
            ],
            "clocks": clock_roots.clocks,
            "asynchronous": clock_roots.asynchronous,
            "findings": [str(one) for one in design.findings],
        }
    (folder / "facts.json").write_text(json.dumps(facts))


def cell_types(stat: dict[str, Any]) -> dict[str, dict[str, int]]:
    return {
        name.removeprefix("\\"): {
            kind.removeprefix("\\"): count for kind, count in facts["num_cells_by_type"].items()
        }
        for name, facts in stat["modules"].items()
    }


# Gates per bit of a word-level cell, roughly; enough to tell a PE from a counter.
_GATES = {
    "mul": 0, "macc": 0, "add": 6, "sub": 6, "alu": 6, "neg": 5, "lt": 5, "le": 5, "gt": 5, "ge": 5,
    "shl": 12, "shr": 12, "sshl": 12, "sshr": 12, "shift": 12, "shiftx": 12, "mux": 3, "pmux": 8,
    "xor": 2, "xnor": 2, "eq": 2, "ne": 2, "fa": 8, "not": 0.5,
}  # fmt: skip
KEEP_GATES = 150
HIERARCHIES: dict[str, int | None] = {"auto": 3000, "coarse": 20_000, "flat": None}
"""Gates of work that mapping a module once must save; nothing is kept of a flat design. In a
coarse one, elements of a column share what is the same in all of them."""


FLAT_GATES = 200_000
"""Gates above which a search does not try a flat design, each of whose points takes minutes."""


def hierarchies(
    design: Elaborated, wanted: str | None, every: bool, notes: list[str]
) -> dict[str, list[str]]:
    """Return for each hierarchy the modules that are mapped once each.

    Parameters
    ----------
    wanted : of :data:`HIERARCHIES`; None for ``auto``.
    every : if none is wanted, all those that differ.
    notes : gets a line on what is left out.
    """
    by_name = {wanted or "auto": kept_modules(design, wanted or "auto")}
    for name in HIERARCHIES if every and wanted is None else ():
        modules = kept_modules(design, name)
        about = gates(design)
        if modules in by_name.values():
            continue
        if not modules and about > FLAT_GATES:
            notes.append(
                f"--hierarchy {name} not tried: about {about:,.0f} gates, more than {FLAT_GATES:,}"
            )
            continue
        by_name[name if modules else "flat"] = modules
    return by_name


def kept_modules(design: Elaborated, hierarchy: str = "auto") -> list[str]:
    """Return the modules to map once each, in hierarchy order; the rest is flattened.

    A module is kept if it is instantiated more than once, has at least ``KEEP_GATES`` gates
    (estimated, its children included), and mapping it once saves as many gates of work as
    :data:`HIERARCHIES` says. Children of a kept module count once.
    """
    least = HIERARCHIES[hierarchy]
    if least is None:
        return []
    modules = design.modules
    sizes = _sizes(design)
    names = order(modules, design.top)
    uses = dict.fromkeys(names, 0)
    uses[design.top] = 1
    separate = []
    for name in names:
        saving = (uses[name] - 1) * sizes[name]
        if uses[name] > 1 and sizes[name] >= KEEP_GATES and saving >= least:
            separate.append(name)
            uses[name] = 1
        for kind, count in modules[name].items():
            if kind in uses:
                uses[kind] += uses[name] * count
    return separate


def gates(design: Elaborated) -> float:
    """Estimate the gates of a design."""
    return _sizes(design)[design.top]


def _sizes(design: Elaborated) -> dict[str, float]:
    """Estimate the gates of every module, its children included."""
    sizes: dict[str, float] = {}
    for name in reversed(order(design.modules, design.top)):
        sizes[name] = sum(
            count * (sizes[kind] if kind in design.modules else _gates(kind))
            for kind, count in design.modules[name].items()
        )
    return sizes


def _gates(kind: str) -> float:
    word, _, width = kind.removeprefix("$").partition("_")
    bits = int(width) if width.isdecimal() else 1
    if word in {"mul", "macc"}:
        return 1.5 * bits * bits
    return bits * (6 if "dff" in word else _GATES.get(word, 1))


def order(modules: dict[str, dict[str, int]], top: str) -> list[str]:
    """Return the top and the modules below it, every parent before its children."""
    ordered: list[str] = []
    done = set()

    def visit(name: str) -> None:
        done.add(name)
        for kind in modules[name]:
            if kind in modules and kind not in done:
                visit(kind)
        ordered.append(name)

    visit(top)
    return ordered[::-1]
