"""Maps a design to a cell library, sizes it for a delay target, and measures the netlist."""

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from carrysave import cache, jobs
from carrysave.asic import full_adders, hierarchy, port_model, resized, sta
from carrysave.asic.abc_scripts import abc_script
from carrysave.asic.elaborate import FORMAT, Elaborated, cell_types, gates
from carrysave.asic.liberty.cells import LIB, Library
from hw.emit import tools, yosys

__all__ = [
    "FRONTS",
    "Flow",
    "Recipe",
    "area",
    "front_end",
    "fronts",
    "measure",
    "point",
    "point_job",
]


# Arithmetic before technology mapping. Operators that a design leaves to synthesis (`acc + a*b`)
# become one carry-save tree with one parallel-prefix adder, or Booth rows in such a tree. Designs
# that place their own gates have no operators left and need one front end only.
FRONTS = {
    "tree": "alumacc; share; opt; arith_tree -strategy fa -final prefix; alumacc; opt",
    "tree42": "alumacc; share; opt; arith_tree -final prefix; alumacc; opt",
    "booth": "booth; opt; alumacc; share; opt; arith_tree -strategy fa -final prefix; alumacc; opt",
}


# Flip-flops that share an enable are clock-gated if there are at least so many; below it the gate
# costs more than the multiplexers it saves.
CLOCK_GATE_MIN = 4


@dataclass(frozen=True)
class Recipe:
    """One way through the flow: a front end of ``FRONTS`` and a mapping.

    Attributes
    ----------
    map : of :mod:`carrysave.asic.abc_scripts`.
    adders : which full adders are cells of the library, of
        :data:`carrysave.asic.full_adders.ADDERS`; none if empty.
    sizes : what cells are resized for after mapping, see :func:`carrysave.asic.resized.goal`; ABC's
        sizes if empty.
    """

    front: str
    map: str
    adders: str = ""
    sizes: str = ""

    @classmethod
    def parse(cls, text: str) -> "Recipe":
        """Read what ``str`` wrote."""
        front, map_, *more = text.split("+")
        recipe = cls(front, map_)
        for word in more:
            kind, _, value = word.partition("@")
            recipe = replace(recipe, **{"adders" if kind == "adders" else "sizes": value})
        return recipe

    @classmethod
    def checked(cls, text: str, library: Library) -> "Recipe":
        """Read what a user wrote.

        Raises
        ------
        ValueError
            It is no recipe, or none for the library.
        """
        try:
            made = cls.parse(text)
            if str(made) != text or made.front not in FRONTS:
                raise ValueError
            if made.adders and not 0 < float(made.adders) <= 1:
                raise ValueError
            if made.sizes and made.sizes not in resized.OBJECTIVES and not float(made.sizes) > 0:
                raise ValueError
        except ValueError:
            raise ValueError(
                f"recipe must be one of {', '.join(FRONTS)}, + and a mapping, then +adders@SHARE (0"
                f" to 1) and +sizes@GOAL ({', '.join(resized.OBJECTIVES)} or ns) if wanted, not"
                f" {text!r}"
            ) from None
        abc_script(made.map)
        if made.adders and library.full_adder is None:
            raise ValueError(
                f"recipe must be without adders, as {library.name} has none, not {text!r}"
            )
        return made

    def __str__(self) -> str:
        adders = f"+adders@{self.adders}" if self.adders else ""
        sizes = f"+sizes@{self.sizes}" if self.sizes else ""
        return f"{self.front}+{self.map}{adders}{sizes}"


def fronts(design: Elaborated) -> list[str]:
    """Return the front ends that can differ for a design, by the operators it has."""
    kinds = {kind.split("_")[0] for cells in design.modules.values() for kind in cells}
    if kinds & {"$mul", "$macc"}:
        return list(FRONTS)
    return ["tree", "tree42"] if kinds & {"$add", "$sub", "$alu"} else ["tree"]


def front_end(
    design: Elaborated, front: str, names: Sequence[str], library: Library, adders: str = ""
) -> Path:
    """Map everything but the combinational logic; return the RTLIL file, cached."""
    key = [design.rtlil.parent.name, FRONTS[front], str(CLOCK_GATE_MIN), library.key, *names]
    if adders:
        key += [f"adders {adders}", str(full_adders.FORMAT)]
    folder = cache.entry(
        "synth/front", key, lambda folder: _front_end(design, front, names, library, adders, folder)
    )
    return folder / "front.il"


def _front_end(
    design: Elaborated,
    front: str,
    names: Sequence[str],
    library: Library,
    adders: str,
    folder: Path,
) -> None:
    """Write ``front.il`` into a folder."""
    banned = _dont_use(library)
    gate = library.clock_gate
    gating = [f"clockgate -liberty {LIB} -min_net_size {CLOCK_GATE_MIN} {banned}"] if gate else []
    with tools.workplace() as work, library.placed(work):
        shutil.copy(design.rtlil, work)
        yosys.run(
            "\n".join([
                "read_rtlil design.il",
                *(f"setattr -mod -set keep_hierarchy 1 {yosys.word(name)}" for name in names),
                "flatten -noscopeinfo",
                f"hierarchy -top {yosys.word(design.top)}",
                "opt",
                "wreduce",
                "peepopt",
                "opt_clean",
                *FRONTS[front].split("; "),
                "techmap",
                "opt -fast -full",
                *gating,
                f"dfflibmap -liberty {LIB} {banned}",
                "opt",
                "write_rtlil front.il",
            ]),
            cwd=work,
        )
        if adders:
            _keep_adders(library, adders, work)
        shutil.copy(work / "front.il", folder)


def _keep_adders(library: Library, adders: str, work: Path) -> None:
    """Make full adders of ``front.il`` cells: all, or those with time to spare."""
    cell = library.full_adder
    assert cell is not None
    (work / full_adders.PATTERN).write_text(full_adders.pattern(cell))
    yosys.run(
        "\n".join([
            "read_rtlil front.il",
            f"extract -map {full_adders.PATTERN}",
            "opt_clean",
            "write_rtlil front.il",
            "write_json front.json",
        ]),
        cwd=work,
    )
    if float(adders) >= 1:
        return
    design = json.loads((work / "front.json").read_text())
    for module in design["modules"].values():
        for name in full_adders.late(module, library, float(adders)):
            module["cells"][name]["type"] = full_adders.LATE
    (work / "front.json").write_text(json.dumps(design))
    (work / full_adders.PATTERN).write_text(full_adders.pattern(cell, full_adders.LATE))
    yosys.run(
        "\n".join([
            "read_json front.json",
            f"techmap -map {full_adders.PATTERN}",
            "opt_clean",
            "write_rtlil front.il",
        ]),
        cwd=work,
    )


def _dont_use(library: Library) -> str:
    return " ".join(f"-dont_use {yosys.word(name)}" for name in library.dont_use)


@dataclass(frozen=True)
class Flow:
    """Data shared by all points of one design."""

    design: Elaborated
    kept_modules: tuple[str, ...]
    library: Library
    conditions: sta.Conditions


def point(flow: Flow, recipe: Recipe, delay_ns: float) -> dict[str, Any]:
    """Map, size and time a design for one delay target of the logic; cached by content.

    Returns
    -------
    ``recipe``, ``delay_target_ns``, ``netlist`` (path) and what :func:`measure` returns.
    """
    folder = _mapped(**_arguments(flow, recipe, delay_ns, lambda path: path))
    return {
        "recipe": str(recipe),
        "delay_target_ns": delay_ns,
        "netlist": str(folder / "netlist.v"),
        **json.loads((folder / "facts.json").read_text()),
    }


def point_job(flow: Flow, recipe: Recipe, delay_ns: float, facts: Mapping[str, Any]) -> jobs.Job:
    """Return the job of a point; its value is :func:`measure`'s.

    Parameters
    ----------
    facts : what the store says of it besides.
    """
    arguments = _arguments(flow, recipe, delay_ns, jobs.File)
    formats = FORMAT, hierarchy.TIMED_WHOLE, arguments.get("modelled", 1), resized.FORMAT
    return jobs.Job(
        function=measure,
        arguments=arguments,
        content=[*map(str, formats)],
        tools=(yosys.version, sta.version),
        label=f"{flow.design.top}, {recipe}, target {delay_ns:.3f}",
        facts={
            "kind": "point",
            "design": flow.design.top,
            "target": flow.library.name,
            "library": {"name": flow.library.name, "sha256": flow.library.sha},
            "recipe": str(recipe),
            "delay_target_ns": delay_ns,
            **facts,
        },
    )


def measure(**arguments: Any) -> dict[str, Any]:
    """Run :func:`point` with plain arguments: a job of :mod:`carrysave.jobs`.

    Returns
    -------
    ``area_um2``, ``hierarchy`` (:func:`hierarchy.rows`), ``corners`` (the period in each) and what
    :func:`sta.analyse` returns in the slowest.
    """
    facts: dict[str, Any] = json.loads((_mapped(**arguments) / "facts.json").read_text())
    return {"area_um2": area(facts), **facts}


def _arguments(
    flow: Flow, recipe: Recipe, delay_ns: float, file: Callable[[Path], Any]
) -> dict[str, Any]:
    """Return all that a point depends on, but for tools: what :func:`_mapped` takes."""
    source = front_end(flow.design, recipe.front, flow.kept_modules, flow.library, recipe.adders)
    return {
        "source": file(source),
        "source_key": source.parent.name,
        "top": flow.design.top,
        "script": abc_script(recipe.map).replace("{D}", f"{delay_ns * 1e3:.0f}"),
        "library": flow.library.plain(file),
        "conditions": asdict(flow.conditions),
        "sizes": recipe.sizes,
        # What is timed whole has no models of ports, and stays the same whatever these say.
        **(
            {"modelled": port_model.FORMAT}
            if 2 * gates(flow.design) > hierarchy.TIMED_WHOLE
            else {}
        ),
    }


def _mapped(
    source: Path,
    source_key: str,
    top: str,
    script: str,
    library: Mapping[str, Any],
    conditions: Mapping[str, Any],
    sizes: str,
    modelled: int = 1,
) -> Path:
    """Return a folder with ``netlist.v`` and ``facts.json``, cached.

    Parameters
    ----------
    source : what :func:`front_end` made, and `source_key` the name of its folder.
    script : of ABC.
    sizes : to what cells are resized afterwards; empty: to nothing.
    modelled : the format of models of ports, if there may be some.
    """
    cells = Library.of_plain(library)
    # JSON has no tuples.
    asked: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in conditions.items()
    }
    around = sta.Conditions(**asked)
    if sizes:
        base = _mapped(source, source_key, top, script, library, conditions, "", modelled)

        def resize(folder: Path) -> None:
            with tools.workplace() as work:
                netlist = base / "netlist.v"
                modules = resized.resize_netlist(netlist, top, cells, around, sizes)
                (work / "mapped.json").write_text(json.dumps({"modules": modules}))
                _write(top, work)
                _measure(top, cells, around, work, folder)

        key = [base.name, sizes, str(resized.FORMAT), cells.key]
        return cache.entry("synth/resized", key, resize)

    parts = [
        source_key,
        script,
        cells.driver.name,
        str(cells.load_ff),
        *cells.dont_use,
        repr(around),
        sta.version(),
        str(FORMAT),
        str(hierarchy.TIMED_WHOLE),
        f"port model {modelled}",
        *(corner.key for corner in cells.corners),
    ]

    def make(folder: Path) -> None:
        with tools.workplace() as work, cells.placed(work):
            _map(source, top, cells, around, script, work)
            _measure(top, cells, around, work, folder)

    return cache.entry("synth/mapped", parts, make)


def _measure(
    top: str, library: Library, conditions: sta.Conditions, work: Path, folder: Path
) -> None:
    """Time what :func:`_write` wrote; write ``netlist.v`` and ``facts.json`` into a folder."""
    netlist = sta.sanitise((work / "mapped.v").read_text())
    modules = cell_types(json.loads((work / "mapped.stat").read_text()))
    mapped = json.loads((work / "mapped.json").read_text())["modules"]
    corners = [
        hierarchy.analyse(netlist, mapped, modules, top, corner, conditions)
        for corner in (library, *library.corners)
    ]
    timing = {
        **max(corners, key=lambda each: each["period_ns"]),
        "corners": [each["period_ns"] for each in corners],
    }
    rows = hierarchy.rows(modules, top, library)
    (folder / "netlist.v").write_text(netlist)
    (folder / "facts.json").write_text(json.dumps({"hierarchy": rows, **timing}))


def _map(
    source: Path, top: str, library: Library, conditions: sta.Conditions, script: str, work: Path
) -> None:
    """Write ``mapped.v``, ``mapped.json`` and ``mapped.stat`` into a folder with the library."""
    word = yosys.word(top)
    shutil.copy(source, work / "front.il")
    (work / "abc.exe").symlink_to(yosys.abc())
    (work / "constr").write_text(
        f"set_driving_cell {library.driver.name}\nset_load {library.load_ff}\n"
    )
    (work / "abc").write_text(script + "\n")
    ties = library.ties
    yosys.run(
        "\n".join([
            "read_rtlil front.il",
            f"abc -exe {work}/abc.exe -liberty {LIB} -constr constr -script abc"
            f" {_dont_use(library)}",
            "opt_clean -purge",
            "setundef -zero",
            *(
                [f"hilomap -singleton -hicell {' '.join(ties[0])} -locell {' '.join(ties[1])}"]
                if ties
                else []
            ),
            "opt_clean -purge",
            f"hierarchy -top {word}",
            "write_json logic.json",
        ]),
        cwd=work,
    )
    logic = json.loads((work / "logic.json").read_text())
    hierarchy.split_clock_gates(logic["modules"], library)
    hierarchy.buffer(logic["modules"], word, conditions, library)
    (work / "mapped.json").write_text(json.dumps(logic))
    _write(top, work)


def _write(top: str, work: Path) -> None:
    """Write ``mapped.json`` as ``mapped.v``, and count its cells in ``mapped.stat``."""
    yosys.run(
        "\n".join([
            "read_json mapped.json",
            f"hierarchy -top {yosys.word(top)}",
            "tee -q -o mapped.stat stat -json",
            "write_verilog -simple-lhs -noattr -noexpr -nohex -nodec mapped.v",
        ]),
        cwd=work,
    )


def area(result: dict[str, Any]) -> float:
    """Return the area of a point in um2: modules times instances."""
    return sum(row["instances"] * row["area_um2"] for row in result["hierarchy"])
