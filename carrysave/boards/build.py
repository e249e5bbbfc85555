"""Bitstreams for boards, with open tools, at the clock that the design reaches; or a project."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from carrysave import cache
from carrysave.boards import vendor
from carrysave.boards.board import Board, design_of
from carrysave.boards.clock_search import SEEDS, Run, fastest
from carrysave.boards.external import controller
from carrysave.boards.flash import check_bitstream, flash_of
from carrysave.boards.implement import Placement, TooLargeError, routed
from carrysave.boards.largest import largest, map_whole
from carrysave.boards.line_rate import rate_of
from carrysave.boards.litedram_core import CORE
from carrysave.boards.sdram import sdram_of
from carrysave.boards.top import ARRAY, TOP, clock_of, top
from carrysave.errors import ArgumentError
from carrysave.fpga import place
from carrysave.sim.emission import verilog_of
from hw import device
from hw.catalog import Design
from hw.emit import constraints, tools, yosys

__all__ = ["TooLargeError", "build"]

_FIRST_MHZ = 48.0  # for boards whose clock is not known
_FORMAT = "2"  # of what is kept


@dataclass(frozen=True, kw_only=True)
class _Built(Run):
    """A placed and routed design, and the folder with its bitstream."""

    design: Design
    report: dict[str, Any]
    image: bytes
    files: dict[str, str]


def build(
    board: Board,
    parameters: Mapping[str, str],
    folder: Path,
    progress: Callable[[str], None],
    *,
    clock_mhz: float | None = None,
    baud: int = 0,
    seeds: int = SEEDS,
) -> tuple[Design, dict[str, Any]]:
    """Map, place, route and pack a co-processor for a board; or write its project for Vivado.

    Parameters
    ----------
    parameters : of the design, in place of the board's.
    folder : where files go: Verilog, constraints, bitstream, report.
    progress : callback for each step.
    clock_mhz : of the design; the PLL makes the next one that is not above it. By default it is
        what the design reaches.
    baud : of the serial line; 0: the board's.
    seeds : runs of place and route, see :func:`carrysave.boards.clock_search.fastest`.

    Returns
    -------
    The design, and ``board design parameters family part oscillator_mhz clock_mhz baud fmax_mhz ok
    gops luts ffs dsps brams carry capacity critical_path notes versions files seed runs``. ``ok``:
    the clock is met; None, as all figures, where no open tool says so. ``runs`` has ``seed
    clock_mhz fmax_mhz ok`` of each.

    Raises
    ------
    TooLargeError
        The design is larger than the FPGA; says by how much, and names the largest that fits.
    ValueError
        The clock cannot be made, or not the baud rate of it.
    ModuleNotFoundError
        The package of the family's nextpnr is not installed.
    YosysError, FpgaError
        A tool fails.
    """
    bitstream = device.family(board.family).flow.bitstream
    if bitstream is None:
        if clock_mhz is not None:
            raise ArgumentError(
                "{clock} is for boards that open tools build for, not {name}", name=board.name
            )
        return vendor.write(board, design_of(board, parameters, baud=baud), folder, progress)
    try:
        built, runs = _fastest(board, parameters, clock_mhz, (baud, seeds), progress)
    except TooLargeError as error:
        smaller = largest(board, parameters, error.taken, progress)
        raise TooLargeError(f"{error}; {smaller}", error.taken) from None
    image = folder / f"{board.name}{bitstream.suffix}"
    written = [cache.write(folder / name, text) for name, text in built.files.items()]
    written.append(cache.write(image, built.image))
    report = folder / f"{board.name}.json"
    facts = _report(board, built, baud or rate_of(board.baud, 1e6 * built.clock_mhz))
    facts |= {"runs": [run.facts for run in runs], "files": [*map(str, (*written, report))]}
    cache.write(report, json.dumps(facts, indent=2) + "\n")
    return built.design, facts


def _report(board: Board, built: _Built, baud: int) -> dict[str, Any]:
    assert board.part is not None
    design = built.design
    operations = design.component().operations_per_cycle
    return {
        "board": board.name,
        "design": design.module,
        "parameters": dict(design.parameters),
        "family": board.family,
        "part": board.part.name,
        "oscillator_mhz": board.oscillator_mhz,
        "baud": baud,
        **built.facts,
        "gops": operations * built.clock_mhz / 1e3,
        "capacity": dict(board.part.capacity),
        **built.report,
        "notes": [*built.report["notes"], *([board.note] if board.note else [])],
        "versions": dict(zip(("yosys", "nextpnr"), _versions(board), strict=True)),
    }


def _fastest(
    board: Board,
    parameters: Mapping[str, str],
    clock_mhz: float | None,
    rates: tuple[int, int],
    progress: Callable[[str], None],
) -> tuple[_Built, list[_Built]]:
    """Build at a clock, or at the highest of some that the design reaches; return all runs, too.

    Parameters
    ----------
    rates : baud rate and number of seeds of :func:`build`.
    """
    baud, seeds = rates

    def run(mhz: float, seed: int) -> _Built:
        built = _built(board, parameters, (mhz, baud, seed), progress)
        progress(
            f"{board.name}: {built.fmax_mhz:.1f} MHz reached at {built.clock_mhz:g} MHz,"
            f" seed {seed}"
        )
        return built

    first = clock_mhz or board.clock_mhz or _FIRST_MHZ
    return fastest(run, first, seeds, progress, fixed=clock_mhz is not None)


def _second_clock(board: Board, parameters: Mapping[str, str]) -> str:
    """Return what a design needs a second clock for; nothing if it does not."""
    external = parameters.get("memory") == "external"
    if {**board.parameters, **parameters}.get("array_clock", "1") in ("1", 1):
        return sdram_of(board.name).kind if external else ""
    if external:
        raise ArgumentError("array_clock must be 1 with external memory, not 2: a PLL makes two")
    return ARRAY


def _built(
    board: Board,
    parameters: Mapping[str, str],
    rates: tuple[float, int, int],
    progress: Callable[[str], None],
) -> _Built:
    """Build at the next clock that is not above one.

    Parameters
    ----------
    rates : that clock in MHz, baud rate, and the placer's seed.
    """
    mhz, baud, seed = rates
    external = parameters.get("memory") == "external"
    with tools.workplace() as work:
        clock = clock_of(board, mhz, work, second=_second_clock(board, parameters))
    design = design_of(board, parameters, clock_hz=1e6 * clock.mhz, baud=baud)
    flow = device.family(board.family).flow
    assert flow.bitstream is not None
    memory = controller(board, design.spec, 1e6 * clock.mhz) if external else None
    facts = board.facts
    flash = bool(design.spec.flash and flash_of(board.name))
    places = facts["pins"] | (facts["flash"] if flash else {})
    pins = constraints.pins(flow.bitstream.pins, places, facts["clock_hz"])
    files = {
        f"{design.module}.v": verilog_of(design),
        f"{TOP}.v": top(board, design.module, clock, memory, flash=flash),
        **({f"{CORE}.v": memory.verilog} if memory else {}),
        f"{board.name}.{flow.bitstream.pins}": pins + (memory.pins if memory else ""),
    }

    def make(folder: Path) -> None:
        with tools.workplace() as work:
            how = Placement(seed=seed, pair=clock.pair)
            report, image = _implement(board, design.module, files, work, progress, how)
        (folder / "image").write_bytes(image)
        (folder / "report.json").write_text(json.dumps(report))

    tools_of = repr(board.part), repr(flow), *_versions(board)
    key = [_FORMAT, *files.values(), *tools_of, str(seed)]
    folder = cache.entry("boards", key, make)
    report = json.loads((folder / "report.json").read_text())
    image = (folder / "image").read_bytes()
    if flash:
        check_bitstream(board, design, len(image))
    return _Built(
        seed=seed,
        clock_mhz=clock.mhz,
        fmax_mhz=float(report["fmax_mhz"]),
        untimed=bool(report["untimed"]),
        design=design,
        report=report,
        image=image,
        files=files,
    )


def _versions(board: Board) -> tuple[str, str]:
    return yosys.version(), place.nextpnr_version(board.family) or ""


def _implement(
    board: Board,
    module: str,
    files: Mapping[str, str],
    folder: Path,
    progress: Callable[[str], None],
    how: Placement,
) -> tuple[dict[str, Any], bytes]:
    """Run the tools in a folder; return the figures, and the bitstream."""
    *verilog, pins = files.values()
    taken, _ = map_whole(board, module, "".join(verilog), folder, progress)
    return routed(board, module, TOP, taken, pins, folder, progress, how)
