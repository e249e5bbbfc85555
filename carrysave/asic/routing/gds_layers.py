"""Numbers of layers in GDS: of sky130, or from a file."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from carrysave.errors import ArgumentError
from hw.emit.user_files import FileError, read_text

__all__ = ["GdsFiles", "gds_files"]

Number = tuple[int, int]
"""Layer and data type."""
_MOST = 65535
_HEAD, _TAIL = b"\x00\x06\x00\x02", b"\x00\x04\x04\x00"
_SKY130 = """
li1 drawing 67 20
li1 label 67 5
mcon drawing 67 44
met1 drawing 68 20
met1 label 68 5
via drawing 68 44
met2 drawing 69 20
met2 label 69 5
via2 drawing 69 44
met3 drawing 70 20
met3 label 70 5
via3 drawing 70 44
met4 drawing 71 20
met4 label 71 5
via4 drawing 71 44
met5 drawing 72 20
met5 label 72 5
die boundary 235 4
"""
"""As SkyWater's documentation of layers has them; the boundary is that of a cell's place."""


@dataclass
class GdsFiles:
    """Files of cells, and the numbers of layers.

    Members
    -------
    cells : GDS files.
    drawing, label : by name in LEF: of metal and cuts, and of the names of ports.
    boundary : of the outline of the die, if there is one.
    text : of the numbers, as they were read.
    """

    cells: list[Path] = field(default_factory=list)
    drawing: dict[str, Number] = field(default_factory=dict)
    label: dict[str, Number] = field(default_factory=dict)
    boundary: Number | None = None
    text: str = ""

    def number(self, layer: str) -> Number:
        """Return the number of a layer of LEF, or refuse files without one."""
        if layer not in self.drawing:
            raise ArgumentError(
                "{gds} must have a file of layers with a line `{layer} drawing LAYER TYPE`: its"
                " numbers are not known",
                layer=layer,
            )
        return self.drawing[layer]


def gds_files(paths: Sequence[Path]) -> GdsFiles:
    """Sort files into GDS of cells, and lines of `name drawing|label|boundary layer type`.

    Without such lines numbers are those of sky130.

    Raises
    ------
    FileError
        If a file is neither, or GDS has no end.
    """
    files, texts = GdsFiles(), list[tuple[Path, str]]()
    for path in paths:
        with path.open("rb") as file:
            binary = file.read(4) == _HEAD
        if not binary:
            texts.append((path, read_text(path)))
            continue
        if not path.read_bytes().rstrip(b"\x00").endswith(_TAIL.rstrip(b"\x00")):
            raise FileError(path, "must be GDS with an end, and is cut off")
        files.cells.append(path)
    for path, text in texts or [(Path("sky130"), _SKY130)]:
        files.text += text
        for number, line in enumerate(text.splitlines(), 1):
            words = line.partition("#")[0].split()
            if words:
                _read_line(files, path, f"line {number}", words)
    return files


def _read_line(files: GdsFiles, path: Path, where: str, words: list[str]) -> None:
    numbers = [int(word) for word in words[2:] if word.isdecimal() and len(word) < 6]
    if len(words) != 4 or len(numbers) != 2 or max(numbers) > _MOST:
        raise FileError(
            path, "must be GDS, or lines of `name drawing|label|boundary layer type`", where
        )
    kinds = {"drawing": files.drawing, "label": files.label}
    if words[1] == "boundary":
        files.boundary = numbers[0], numbers[1]
    elif words[1] in kinds:
        kinds[words[1]][words[0]] = numbers[0], numbers[1]
    else:
        raise FileError(path, f"must have drawing, label or boundary, not {words[1]!r}", where)
