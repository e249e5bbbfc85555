"""Makes GDS of what was routed, reads it back, and keeps it."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from carrysave import cache
from carrysave.asic.routing.flow import Routed
from carrysave.asic.routing.gds import write_gds
from carrysave.asic.routing.gds_check import check_gds
from carrysave.asic.routing.gds_layers import gds_files
from carrysave.asic.routing.lef import read_routing_lef
from carrysave.errors import ArgumentError

__all__ = ["stream"]

_FORMAT = 1  # of what is cached; raise it with any change of it


def stream(
    routed: Routed, lef: Sequence[Path], gds: Sequence[Path], say: Callable[[str], None]
) -> Path:
    """Return a GDS file of what was routed; cached by content.

    Parameters
    ----------
    gds : of the cells, and a file of numbers of layers; see
        :func:`carrysave.asic.routing.gds_layers.gds_files`.

    Raises
    ------
    ArgumentError
        If a cell or the number of a layer is missing, or GDS and LEF disagree.
    FileError
        If a file is not understood.
    """
    shapes = (routed.folder / "shapes.json").read_bytes()
    parts: list[str | bytes] = [str(_FORMAT), shapes]
    parts += [path.read_bytes() for path in (*lef, *gds)]

    def make(folder: Path) -> None:
        files, known = gds_files(gds), read_routing_lef(lef)
        say("write GDS")
        heights = {kind: macro.size[1] for kind, macro in known.macros.items()}
        write_gds(json.loads(shapes), heights, files, folder / "routed.gds")
        text, data = (routed.folder / "routed.def").read_text(), (folder / "routed.gds")
        if wrong := check_gds(data.read_bytes(), text, known, files.drawing):
            raise ArgumentError(
                "{gds} and {lef} must agree, but {wrong}", wrong="; ".join(wrong[:3])
            )

    return cache.entry("synth/gds", parts, make) / "routed.gds"
