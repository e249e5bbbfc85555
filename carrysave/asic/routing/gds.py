"""Writes GDS of a routed die: metal, vias, names of ports, and cells by reference."""

import datetime
from pathlib import Path
from typing import Any

from carrysave.asic.routing.gds_layers import GdsFiles
from carrysave.errors import ArgumentError, needs
from hw.emit.user_files import FileError

__all__ = ["write_gds"]

_TIME = datetime.datetime(2000, 1, 1)
"""In place of that of writing: the same input gives the same bytes."""


def write_gds(
    shapes: dict[str, Any], heights: dict[str, float], files: GdsFiles, path: Path
) -> None:
    """Write a die, with the cells that it has.

    Parameters
    ----------
    shapes : of :func:`carrysave.asic.routing.shapes.shapes_of`.
    heights : of cells by kind, um.

    Raises
    ------
    ArgumentError
        If a cell is in none of the files, or numbers of a layer are not known.
    FileError
        If GDS cannot be read.
    ModuleNotFoundError
        If gdstk is not installed.
    """
    needs("gdstk")
    import gdstk

    library = gdstk.Library("carrysave", unit=1e-6, precision=1e-9)
    top = gdstk.Cell(shapes["top"])
    kinds = _cells({kind for kind, *_ in shapes["cells"]}, shapes["top"], files)
    for kind, x, y, upside in shapes["cells"]:
        origin = (x, y + heights[kind]) if upside else (x, y)
        top.add(gdstk.Reference(kinds[kind], origin, x_reflection=upside))
    for layer, box in shapes["metal"]:
        top.add(_box(box, files.number(layer)))
    vias: dict[str, Any] = {}
    for name, x, y in shapes["vias"]:
        if name not in vias:
            vias[name] = gdstk.Cell(f"{shapes['top']}_{name}")
            for layer, box in shapes["via_shapes"][name].items():
                vias[name].add(_box(box, files.number(layer)))
        top.add(gdstk.Reference(vias[name], (x, y)))
    for name, _, _, layer, (left, low, right, up) in shapes["ports"]:
        number, kind = files.label.get(layer, files.number(layer))
        middle = (left + right) / 2, (low + up) / 2
        top.add(gdstk.Label(name, middle, layer=number, texttype=kind))
    if files.boundary is not None:
        top.add(_box((0.0, 0.0, *shapes["size"]), files.boundary))
    below = {cell.name: cell for kind in kinds.values() for cell in (kind, *_within(kind))}
    library.add(top, *vias.values(), *(below[name] for name in sorted(below)))
    library.write_gds(path, timestamp=_TIME)


def _box(box: Any, number: tuple[int, int]) -> Any:
    import gdstk

    return gdstk.rectangle(tuple(box[:2]), tuple(box[2:]), layer=number[0], datatype=number[1])


def _within(cell: Any) -> list[Any]:
    return list(cell.dependencies(True))


def _cells(kinds: set[str], top: str, files: GdsFiles) -> dict[str, Any]:
    """Return cells of GDS by kind; of several of a name the first counts."""
    import gdstk

    known: dict[str, Any] = {}
    for path in files.cells:
        try:
            cells = gdstk.read_gds(path, unit=1e-6).cells
        except (OSError, RuntimeError) as error:
            raise FileError(path, f"is not understood: {error}") from None
        for cell in cells:
            known.setdefault(cell.name, cell)
    missing = sorted(kinds - known.keys())
    if missing:
        raise ArgumentError(
            "{gds} must have each cell, and has not {missing}",
            missing=", ".join(missing[:5]) + (", ..." if len(missing) > 5 else ""),
        )
    used = {kind: known[kind] for kind in kinds}
    if top in {cell.name for kind in used.values() for cell in (kind, *_within(kind))}:
        raise ArgumentError("{gds} must have no cell {top}: the design has this name", top=top)
    return used
