"""Maps a design to a cell library, sizes it for a delay target, and measures the netlist."""

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from carrysave import cache
from carrysave.asic import hierarchy, sta
from carrysave.asic.elaborate import FORMAT, Elaborated, cell_types
from carrysave.asic.liberty.cells import Library
from hw.emit import yosys

__all__ = ["FRONTS", "MAPS", "Flow", "Recipe", "area", "front_end", "fronts", "point"]


# Arithmetic before technology mapping. Operators that a design leaves to synthesis (`acc + a*b`)
# become one carry-save tree with one parallel-prefix adder, or Booth rows in such a tree. Designs
# that place their own gates have no operators left and need one front end only.
FRONTS = {
    "tree": "alumacc; share; opt; arith_tree -strategy fa -final prefix; alumacc; opt",
    "tree42": "alumacc; share; opt; arith_tree -final prefix; alumacc; opt",
    "booth": "booth; opt; alumacc; share; opt; arith_tree -strategy fa -final prefix; alumacc; opt",
}

# Technology mapping and sizing in ABC; {D} is the delay target in ps.
# `map` sees one delay for every cell,
# times fan-in^B, so what differs is the structure it is given: `dch` collects structural choices,
# `&nf` and `&synch2` restructure first, `amap -m` keeps XORs and multiplexers and is the smallest.
_SIZE = "topo; buffer -p -N 16; upsize -D {D}; dnsize -D {D}"
MAPS = {
    "dch2": f"strash; ifraig; dch -f; dch -f; map -B 0.9 -D {{D}}; {_SIZE}",
    "wide": f"strash; ifraig; dch -f; dch -f; map -B 0.5 -D {{D}}; {_SIZE}",
    "nf": "strash; ifraig; &get -n; &dch -f; &nf; &put; strash; dch -f; dch -f; "
    f"map -B 0.9 -D {{D}}; {_SIZE}",
    "synch": "strash; ifraig; &get -n; &synch2; &put; dch -f; dch -f; "
    f"map -B 0.9 -D {{D}}; {_SIZE}",
    "resyn": "strash; ifraig; balance; rewrite; refactor; balance; rewrite; balance; dch -f; "
    f"map -B 0.9 -D {{D}}; {_SIZE}",
    "dch": "strash; dch; map -B 0.9 -D {D}; topo; buffer -c -N 16; upsize -D {D}; dnsize -D {D}",
    "amap": f"strash; dch -f; amap -m; {_SIZE}",
}

# Flip-flops that share an enable are clock-gated if there are at least so many; below it the gate
# costs more than the multiplexers it saves.
CLOCK_GATE_MIN = 4


@dataclass(frozen=True)
class Recipe:
    """One way through the flow: a front end of ``FRONTS`` and a mapping of ``MAPS``."""

    front: str
    map: str

    @classmethod
    def parse(cls, text: str) -> "Recipe":
        """Read what ``str`` wrote."""
        front, _, map_ = text.partition("+")
        return cls(front, map_)

    def __str__(self) -> str:
        return f"{self.front}+{self.map}"


def fronts(design: Elaborated) -> list[str]:
    """Return the front ends that can differ for a design, by the operators it has."""
    kinds = {kind.split("_")[0] for cells in design.modules.values() for kind in cells}
    if kinds & {"$mul", "$macc"}:
        return list(FRONTS)
    return ["tree", "tree42"] if kinds & {"$add", "$sub", "$alu"} else ["tree"]


def front_end(design: Elaborated, front: str, kept: Sequence[str], library: Library) -> Path:
    """Map everything but the combinational logic; return the RTLIL file, cached."""
    key = cache.digest([FRONTS[front], str(CLOCK_GATE_MIN), library.sha, *kept])[:16]
    path = design.folder / f"{front}.{key}.il"
    if path.exists():
        return path
    lib, banned = yosys.quote(library.path), _dont_use(library)
    gate = library.clock_gate
    gating = [f"clockgate -liberty {lib} -min_net_size {CLOCK_GATE_MIN} {banned}"] if gate else []
    tag = f"{os.urandom(4).hex()}.il"
    yosys.run("\n".join([
        "read_rtlil elaborated.il",
        *(f"setattr -mod -set keep_hierarchy 1 {_escape(name)}" for name in kept),
        "flatten -noscopeinfo", f"hierarchy -top {design.top}",
        "opt", "wreduce", "peepopt", "opt_clean",
        *FRONTS[front].split("; "),
        "techmap", "opt -fast -full", *gating,
        f"dfflibmap -liberty {lib} {banned}", "opt",
        f"write_rtlil {tag}",
    ]), cwd=design.folder)  # fmt: skip
    (design.folder / tag).replace(path)
    return path


def _escape(name: str) -> str:
    return name if name.startswith("$") else f"\\{name}"


def _dont_use(library: Library) -> str:
    return " ".join(f"-dont_use {name}" for name in library.dont_use)


@dataclass(frozen=True)
class Flow:
    """Data shared by all points of one design."""

    design: Elaborated
    kept: tuple[str, ...]
    library: Library
    conditions: sta.Conditions


def point(flow: Flow, recipe: Recipe, delay_ns: float) -> dict[str, Any]:
    """Map, size and time a design for one delay target of the logic; cached by content.

    Returns
    -------
    ``recipe``, ``delay_target_ns``, ``hierarchy`` (:func:`hierarchy.rows`), ``netlist`` (path)
    and what :func:`sta.analyse` returns.
    """
    library = flow.library
    source = front_end(flow.design, recipe.front, flow.kept, library)
    script = MAPS[recipe.map].replace("{D}", f"{delay_ns * 1e3:.0f}")
    key = cache.digest([
        source.name, script, library.driver.name, str(library.load_ff), *library.dont_use,
        repr(flow.conditions), sta.version(), str(FORMAT), str(hierarchy.TIMED_WHOLE),
    ])[:24]  # fmt: skip
    folder = flow.design.folder
    record = folder / f"{key}.json"
    if record.exists():
        return json.loads(record.read_text())
    work = folder / f"{key}.{os.urandom(4).hex()}"
    work.mkdir()
    _map(flow, source, script, work)
    netlist = cache.write(folder / f"{key}.v", sta.sanitise((work / "mapped.v").read_text()))
    modules = cell_types(json.loads((work / "mapped.stat").read_text()))
    timing = hierarchy.analyse(
        netlist, json.loads((work / "mapped.json").read_text())["modules"], modules,
        flow.design.top, library, flow.conditions, work,
    )  # fmt: skip
    result = {
        "recipe": str(recipe), "delay_target_ns": delay_ns,
        "hierarchy": hierarchy.rows(modules, flow.design.top, library),
        "netlist": str(netlist), **timing,
    }  # fmt: skip
    cache.write(record, json.dumps(result))
    for leftover in work.iterdir():
        leftover.unlink()
    work.rmdir()
    return result


def _map(flow: Flow, source: Path, script: str, work: Path) -> None:
    """Leave ``mapped.v``, ``mapped.json`` and ``mapped.stat`` in a directory."""
    library, top = flow.library, flow.design.top
    (work / "constr").write_text(
        f"set_driving_cell {library.driver.name}\nset_load {library.load_ff}\n"
    )
    (work / "abc").write_text(script + "\n")
    ties = library.ties
    yosys.run("\n".join([
        f"read_rtlil ../{source.name}",
        f"abc -liberty {yosys.quote(library.path)} -constr constr -script abc {_dont_use(library)}",
        "opt_clean -purge", "setundef -zero",
        *([f"hilomap -singleton -hicell {' '.join(ties[0])} -locell {' '.join(ties[1])}"]
          if ties else []),
        "opt_clean -purge", f"hierarchy -top {top}", "write_json logic.json",
    ]), cwd=work)  # fmt: skip
    logic = json.loads((work / "logic.json").read_text())
    logic["modules"] = hierarchy.rename(logic["modules"])
    hierarchy.split_clock_gates(logic["modules"], library)
    hierarchy.buffer(logic["modules"], top, flow.conditions.clock, library)
    (work / "mapped.json").write_text(json.dumps(logic))
    yosys.run("\n".join([
        "read_json mapped.json", f"hierarchy -top {top}",
        "tee -q -o mapped.stat stat -json",
        "write_verilog -simple-lhs -noattr -noexpr -nohex -nodec mapped.v",
    ]), cwd=work)  # fmt: skip


def area(result: dict[str, Any]) -> float:
    """Return the area of a point in um2: modules times instances."""
    return sum(row["instances"] * row["area_um2"] for row in result["hierarchy"])
