"""LEF of our own for the cells of osu018, whose package has none: plain pins on one layer."""

from itertools import pairwise

from carrysave.asic.liberty.cells import Cell, Library

__all__ = ["made_lef"]

PITCH, HEIGHT = 0.8, 10.0

_LAYER = """
LAYER {name}
  TYPE ROUTING ; DIRECTION {way} ; PITCH {pitch} ; WIDTH {width} ;
  SPACINGTABLE PARALLELRUNLENGTH 0 WIDTH 0 {spacing} WIDTH 3 0.6 ;
  AREA {area} ; RESISTANCE RPERSQ 0.1 ;
  CAPACITANCE CPERSQDIST 25E-6 ; EDGECAPACITANCE 40E-6 ;
END {name}
"""
_VIA = """
LAYER c{lower}{upper} TYPE CUT ; RESISTANCE 4 ; END c{lower}{upper}
VIA v{lower}{upper} DEFAULT
  LAYER c{lower}{upper} ; RECT -0.1 -0.1 0.1 0.1 ;
  LAYER {lower} ; RECT -0.15 -0.15 0.15 0.15 ;
  LAYER {upper} ; RECT -0.15 -0.15 0.15 0.15 ;
END v{lower}{upper}
"""


def made_lef(library: Library) -> str:
    """Return a technology of five layers and a macro for each cell of a library."""
    layers = (
        ("m1", "HORIZONTAL", 0.8, 0.0),
        ("m2", "VERTICAL", 0.8, 0.0),
        ("m3", "HORIZONTAL", 0.8, 0.3),
        ("m4", "VERTICAL", 0.8, 0.3),
        ("m5", "HORIZONTAL", 1.6, 0.3),
    )
    text = "VERSION 5.7 ;\nSITE core CLASS CORE ; SIZE 0.8 BY 10 ; END core\n"
    for (lower, *_), (upper, *_) in pairwise(layers):
        text += _VIA.format(lower=lower, upper=upper)
    for name, way, pitch, area in layers:
        text += _LAYER.format(name=name, way=way, pitch=pitch, area=area, width=0.3, spacing=0.3)
    return text + "".join(_macro(cell) for cell in library.cells.values())


def _macro(cell: Cell) -> str:
    """Return a cell with its pins in turn on columns of the grid, and supplies at its edges."""
    wide = cell.area / HEIGHT
    columns = max(int(wide / PITCH), 1)
    text = f"MACRO {cell.name}\n  CLASS CORE ; SIZE {wide:g} BY {HEIGHT:g} ; SITE core ;\n"
    names = [pin.name for pin in cell.pins if pin.direction in ("input", "output")]
    for number, pin in enumerate(names):
        x, y = (number % columns + 0.5) * PITCH, 2.0 + 1.6 * (number // columns) + 0.8
        text += (
            f"  PIN {pin} DIRECTION INPUT ; USE SIGNAL ;\n    PORT LAYER m1 ;\n"
            f"      RECT {x - 0.15:g} {y - 0.4:g} {x + 0.15:g} {y + 0.7:g} ; END\n  END {pin}\n"
        )
    for supply, use, y in (("gnd", "GROUND", 0.0), ("vdd", "POWER", HEIGHT)):
        text += (
            f"  PIN {supply} DIRECTION INOUT ; USE {use} ;\n    PORT LAYER m1 ;\n"
            f"      RECT 0 {y - 0.6:g} {wide:g} {y + 0.6:g} ; END\n  END {supply}\n"
        )
    return text + f"END {cell.name}\n"
