"""Maps, places and routes a design for a board, and packs its bitstream."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from carrysave.boards.board import Board
from carrysave.boards.pair_timing import PairTiming
from carrysave.fpga import implementation, place
from carrysave.fpga.netlist import finish_netlist
from carrysave.fpga.path import Words, critical_path
from hw import device
from hw.emit import yosys
from hw.emit.sources import Sources

__all__ = ["Placement", "TooLargeError", "mapped", "routed"]

_TOO_MANY = re.compile(
    r"Failed to expand region .* of (\d+) ICESTORM_LCs|no BELs remaining to implement", re.ASCII
)
"""What nextpnr says of a design with too many logic cells."""

_CROWDED = "Unable to find legal placement"
"""What it says of one that has no more cells than there are, but no place for each."""

_NAMES = {"ICESTORM_LC": "logic cells"}
"""What cells are called."""


@dataclass(frozen=True, kw_only=True)
class Placement:
    """How a design is placed.

    Members
    -------
    seed : of the placer.
    pair : it has two clocks, one of twice the frequency.
    """

    seed: int = 1
    pair: bool = False


PLAIN = Placement()


class TooLargeError(ValueError):
    """A design does not fit on a board's FPGA.

    Members
    -------
    taken : its resources.
    """

    def __init__(self, text: str, taken: Mapping[str, float]) -> None:
        super().__init__(text)
        self.taken = taken


def mapped(
    board: Board,
    module: str,
    top: str,
    sources: Sequence[Path],
    folder: Path,
    progress: Callable[[str], None],
) -> tuple[dict[str, float], dict[str, int]]:
    """Map a design, and leave the netlist in ``top.json``; return resources, and cells by kind.

    Parameters
    ----------
    board : whose FPGA takes it.
    module : what it is called.
    top : its top module.
    sources : Verilog; what it reads into memories is beside it.
    folder : a :func:`hw.emit.tools.workplace`.
    progress : callback for each step.

    Raises
    ------
    TooLargeError
        Resources exceed the part's.
    """
    flow, part = device.family(board.family).flow, board.part
    assert part is not None
    progress(f"{board.name}: mapping {module}")
    _, kinds = implementation.read_once(Sources.read(sources), top, folder)
    yosys.run(
        [
            "read_rtlil design.il",
            *implementation.mapping(flow, part, kinds, f"-top {top} -json top.json"),
            "tee -q -o design.stat stat -json",
        ],
        cwd=folder,
    )
    finish_netlist(flow, folder / "top.json")
    cells = json.loads((folder / "design.stat").read_text())["design"]["num_cells_by_type"]
    taken = implementation.resources(flow, cells)
    beyond = {name: limit for name, limit in part.capacity.items() if taken[name] > limit}
    if beyond:
        parts = ", ".join(f"{taken[name]:,} {name} of {limit:,}" for name, limit in beyond.items())
        raise TooLargeError(f"{module} is larger than {part.name} of {board.name}: {parts}", taken)
    return taken, cells


def routed(
    board: Board,
    module: str,
    top: str,
    taken: Mapping[str, float],
    pins: str,
    folder: Path,
    progress: Callable[[str], None],
    how: Placement = PLAIN,
) -> tuple[dict[str, Any], bytes]:
    """Place and route what :func:`mapped` left; return the figures, and the bitstream.

    Parameters
    ----------
    taken : its resources.
    pins : their constraints, in the language of the family's tools.
    how : it is placed.

    Raises
    ------
    TooLargeError
        Resources exceed the part's, as is known only now.
    FpgaError
        A tool fails.
    """
    flow, part = device.family(board.family).flow, board.part
    assert flow.bitstream is not None
    assert part is not None
    (folder / "pins").write_text(pins)
    progress(f"{board.name}: placing and routing {module}, seed {how.seed}")
    arguments = [*part.arguments, *flow.placing(taken["luts"])]
    arguments += ["--json", "top.json", "--timing-allow-fail"]
    try:
        outcome = place.nextpnr(flow, folder, [*arguments, *flow.bitstream.routed], how.seed)
    except place.FpgaError as error:
        raise _too_large(error, board, module, taken) or error from None
    package, tool, *rest = flow.bitstream.pack
    done = place.call(package, folder, [word.format(pack=part.names[0]) for word in rest], tool)
    if done.code or not (folder / "image").exists():
        lines = done.output.strip().splitlines() or ["it says nothing"]
        raise place.FpgaError(f"{tool or package}: {lines[-1]}")
    netlist = json.loads((folder / "top.json").read_text())["modules"][top]
    untimed = implementation.untimed_of(flow, netlist["cells"])
    facts = {
        **taken,
        "fmax_mhz": min(clock["achieved"] for clock in outcome["fmax"].values()),
        "critical_path": critical_path(outcome, Words(netlist)),
        "untimed": any(not paths.inside for paths in untimed),
        "notes": [paths.why for paths in untimed],
    }
    if how.pair:
        both = PairTiming.of(outcome)
        facts |= {"fmax_mhz": both.fmax_mhz, "clocks": both._asdict()}
        facts["notes"].append(str(both))
    return facts, (folder / "image").read_bytes()


def _too_large(
    error: place.FpgaError, board: Board, module: str, taken: Mapping[str, float]
) -> TooLargeError | None:
    """Return the error that resources exceed the part's, if that is why nextpnr failed."""
    part = board.part
    assert part is not None
    limit = part.capacity["luts"]
    # Look-up tables and flip-flops that do not share a cell are known only now.
    if beyond := _TOO_MANY.search(str(error)):
        cells = f"{int(beyond[1]):,}" if beyond[1] else f"more than {limit:,}"
        return TooLargeError(
            f"{module} is larger than {part.name} of {board.name}: {cells} logic cells of"
            f" {limit:,}",
            {**taken, "luts": int(beyond[1] or limit + 1)},
        )
    if _CROWDED in str(error) and error.used:
        # Logic is what a part has most of.
        name, (has, of) = max(error.used.items(), key=lambda item: (item[1][1], item[1][0]))
        return TooLargeError(
            f"{module} is larger than {part.name} of {board.name}: {has:,}"
            f" {_NAMES.get(name, name)} of {of:,} are too many to be placed",
            {**taken, "luts": max(taken["luts"], limit + 1)},
        )
    return None
