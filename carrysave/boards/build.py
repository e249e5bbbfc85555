"""Bitstreams for boards, with open tools, at the clock that the design reaches; or a project."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from carrysave import cache
from carrysave.boards import vendor
from carrysave.boards.board import Board, design_of, rate_of
from carrysave.boards.implement import TooLargeError, mapped, routed
from carrysave.boards.top import TOP, Clock, clock_of, top
from carrysave.errors import ArgumentError
from carrysave.fpga import place
from hw import device
from hw.catalog import Design
from hw.emit import constraints, tools, yosys
from hw.emit.verilog import Emission

__all__ = ["TooLargeError", "build"]

_ATTEMPTS = 4
_FIRST_MHZ = 48.0  # for boards whose clock is not known
_MARGIN = 0.97  # of what was reached, for the next try: placement differs with the clock
_WORTH = 1.2  # of the best clock so far, from which a faster one is tried
_FORMAT = "1"  # of what is kept


@dataclass(frozen=True)
class _Built:
    """A placed and routed design, and the folder with its bitstream."""

    design: Design
    clock: Clock
    facts: dict[str, Any]
    image: bytes
    files: dict[str, str]

    @property
    def ok(self) -> bool:
        """It is fast enough for its clock."""
        return float(self.facts["fmax_mhz"]) >= self.clock.mhz


def build(
    board: Board,
    parameters: Mapping[str, str],
    folder: Path,
    progress: Callable[[str], None],
    *,
    clock_mhz: float | None = None,
    baud: int = 0,
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

    Returns
    -------
    The design, and ``board design parameters family part oscillator_mhz clock_mhz baud fmax_mhz ok
    gops luts ffs dsps brams carry capacity critical_path notes versions files``. ``ok``: the clock
    is met; None, as all figures, where no open tool says so.

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
        built = _fastest(board, parameters, clock_mhz, baud, progress)
    except TooLargeError as error:
        smaller = _largest(board, parameters, error.taken, progress)
        raise TooLargeError(f"{error}; {smaller}", error.taken) from None
    contents: dict[str, str | bytes] = built.files | {
        f"{board.name}{bitstream.suffix}": built.image
    }
    written = [cache.write(folder / name, content) for name, content in contents.items()]
    report = folder / f"{board.name}.json"
    facts = _report(board, built, baud or rate_of(board, 1e6 * built.clock.mhz))
    facts["files"] = [str(path) for path in (*written, report)]
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
        "clock_mhz": built.clock.mhz,
        "baud": baud,
        "ok": built.ok,
        "gops": operations * built.clock.mhz / 1e3,
        "capacity": dict(board.part.capacity),
        **built.facts,
        "notes": [*built.facts["notes"], *([board.note] if board.note else [])],
        "versions": dict(zip(("yosys", "nextpnr"), _versions(board), strict=True)),
    }


def _fastest(
    board: Board,
    parameters: Mapping[str, str],
    clock_mhz: float | None,
    baud: int,
    progress: Callable[[str], None],
) -> _Built:
    """Build at a clock, or at the highest of some that the design reaches."""
    wanted = clock_mhz or board.clock_mhz or _FIRST_MHZ
    best: _Built | None = None
    for _ in range(_ATTEMPTS):
        built = _built(board, parameters, wanted, baud, progress)
        if clock_mhz is not None:
            return built
        fmax = float(built.facts["fmax_mhz"])
        progress(f"{board.name}: {fmax:.1f} MHz reached at {built.clock.mhz:g} MHz")
        if best is None or (built.ok, built.clock.mhz) > (best.ok, best.clock.mhz):
            best = built
        # What tools do not time is not to be run faster than it was chosen to be.
        faster = fmax > _WORTH * best.clock.mhz and not built.facts["untimed"]
        if best.ok and not faster:
            break
        wanted = _MARGIN * fmax
    assert best is not None
    return best


def _built(
    board: Board,
    parameters: Mapping[str, str],
    mhz: float,
    baud: int,
    progress: Callable[[str], None],
) -> _Built:
    """Build at the next clock that is not above one."""
    with tools.workplace() as work:
        clock = clock_of(board, mhz, work)
    design = design_of(board, parameters, clock_hz=1e6 * clock.mhz, baud=baud)
    flow = device.family(board.family).flow
    assert flow.bitstream is not None
    facts = board.facts
    verilog = Emission(design).verilog
    files = {
        f"{design.module}.v": verilog,
        f"{TOP}.v": top(board, design.module, clock),
        f"{board.name}.{flow.bitstream.pins}": constraints.pins(
            flow.bitstream.pins, facts["pins"], facts["clock_hz"]
        ),
    }

    def make(kept: Path) -> None:
        with tools.workplace() as work:
            found, image = _implement(board, design.module, files, work, progress)
        (kept / "image").write_bytes(image)
        (kept / "report.json").write_text(json.dumps(found))

    more = repr(device.family(board.family).board_arguments)
    key = [_FORMAT, *files.values(), repr(board.part), repr(flow), more, *_versions(board)]
    kept = cache.entry("boards", key, make)
    found = json.loads((kept / "report.json").read_text())
    return _Built(design, clock, found, (kept / "image").read_bytes(), files)


def _versions(board: Board) -> tuple[str, str]:
    return yosys.version(), place.nextpnr_version(board.family) or ""


def _map(
    board: Board, module: str, verilog: str, folder: Path, progress: Callable[[str], None]
) -> tuple[dict[str, float], dict[str, int]]:
    """Map a co-processor and the top around it; see :func:`carrysave.boards.implement.mapped`."""
    (folder / "top.v").write_text(verilog)
    return mapped(board, module, TOP, [folder / "top.v"], folder, progress)


def _implement(
    board: Board,
    module: str,
    files: Mapping[str, str],
    folder: Path,
    progress: Callable[[str], None],
) -> tuple[dict[str, Any], bytes]:
    """Run the tools in a folder; return the figures, and the bitstream."""
    verilog, whole, pins = files.values()
    taken, _ = _map(board, module, verilog + whole, folder, progress)
    more = device.family(board.family).board_arguments
    return routed(board, module, TOP, taken, pins, folder, progress, more)


def _sizes(design: Design, below: float) -> Iterator[tuple[int, int]]:
    """List rows and columns of smaller engines, the largest first, from a number of MACs down."""
    inside = design.spec.inside
    m, n = inside.m, inside.n
    while m > 1 or n > 1:
        m, n = (m, n - 1) if n > m else (m - 1, n)
        if m and n and m * n <= below:
            yield m, n


def _largest(
    board: Board,
    parameters: Mapping[str, str],
    taken: Mapping[str, float],
    progress: Callable[[str], None],
) -> str:
    """Say which rows and columns fit, of the same design: found by mapping it again."""
    design = design_of(board, parameters)
    inside = design.spec.inside
    if not {"m", "n"} <= vars(inside).keys():
        return "no smaller one was tried"
    if inside.m * inside.n == 1:
        return "there is no smaller one"
    assert board.part is not None
    limits, smallest = board.part.capacity, {}

    def fits(m: int, n: int) -> bool:
        small = design_of(board, {**parameters, "m": str(m), "n": str(n)})
        verilog = Emission(small).verilog + top(board, small.module, Clock(board.oscillator_mhz))
        try:
            with tools.workplace() as work:
                smallest.update(_map(board, small.module, verilog, work, progress)[0])
        except TooLargeError as error:
            smallest.update(error.taken)
            return False
        return True

    if not fits(1, 1):
        return "nor does m=1, n=1 fit"
    macs = inside.m * inside.n
    # Resources grow by about as much with each MAC.
    shares = [
        (limit - smallest[name]) / (taken[name] - smallest[name])
        for name, limit in limits.items()
        if taken[name] > max(limit, smallest[name])
    ]
    for m, n in _sizes(design, 1 + min(shares) * (macs - 1)):
        if fits(m, n):
            return f"m={m}, n={n} fits"
    return "m=1, n=1 fits"
