"""Broken LEF files: read, by placement and by routing, or refused in one line."""

from collections.abc import Callable
from pathlib import Path

import pytest

from carrysave.asic.placement.lef import read_lef
from carrysave.asic.routing.grid import grid_of
from carrysave.asic.routing.lef import read_routing_lef
from carrysave.errors import ArgumentError
from hw.emit.user_files import FileError
from verif.asic.placement.test_lef import CELLS, TECHNOLOGY
from verif.support.fuzz import broken, fuzz, minutes

ROUTED = """
LAYER m1 TYPE ROUTING ; DIRECTION HORIZONTAL ; PITCH 0.8 ; WIDTH 0.2 ; SPACING 0.2 ; END m1
LAYER c12 TYPE CUT ; RESISTANCE 4 ; END c12
LAYER m2 TYPE ROUTING ; DIRECTION VERTICAL ; PITCH 0.8 0.9 ; WIDTH 0.2 ;
  SPACINGTABLE PARALLELRUNLENGTH 0 WIDTH 0 0.3 WIDTH 3 0.6 ; AREA 0.3 ; RESISTANCE RPERSQ 0.1 ;
END m2
LAYER m3 TYPE ROUTING ; DIRECTION HORIZONTAL ; PITCH 0.8 ; WIDTH 0.2 ; SPACING 0.3 ; END m3
VIA v12 DEFAULT LAYER c12 ; RECT -0.1 -0.1 0.1 0.1 ; LAYER m1 ; RECT -0.15 -0.15 0.15 0.15 ;
  LAYER m2 ; RECT -0.15 -0.15 0.15 0.15 ; END v12
VIA v23 DEFAULT LAYER m2 ; RECT -0.2 -0.15 0.2 0.15 ; LAYER m3 ; RECT -0.2 -0.15 0.2 0.15 ; END v23
SITE core CLASS CORE ; SIZE 0.8 BY 10 ; END core
MACRO INV SIZE 1.6 BY 10 ; SITE core ;
  PIN A DIRECTION INPUT ; PORT LAYER m1 ; RECT 0 0 1 1 ; END END A
  PIN vdd USE POWER ; PORT LAYER m1 ; RECT 0 9.7 1.6 10.3 ; END END vdd
  OBS LAYER m1 ; RECT 0.4 4 0.5 5 ; END
END INV
"""
WORDS = (
    *b"LAYER |END m1|END |MACRO INV|PIN A|OBS |PORT |SITE core|VIA v12 DEFAULT|VIARULE x".split(
        b"|"
    ),
    *b"PROPERTYDEFINITIONS|TYPE ROUTING ;|TYPE ;|#|PITCH |WIDTH |SPACING |AREA |RECT ".split(b"|"),
    *b"SIZE |BY|DIRECTION ;|RESISTANCE ;|1e-300|1e-9|1e8|-0.0|USE POWER|USE".split(b"|"),
    *(b"CLASS CORE ;", b"PIN A " * 2000, b"LAYER m9 " * 2000, b"SPACINGTABLE WIDTH", b'"' * 2001),
)


def replaced(text: str, new: str) -> bytes:
    assert text in ROUTED
    return ROUTED.replace(text, new).encode()


KNOWN = (
    (replaced("DIRECTION VERTICAL ;", ""), "layer m2 must have DIRECTION"),
    (replaced("PITCH 0.8 0.9 ;", ""), "layer m2 must have PITCH"),
    (replaced("WIDTH 0.2 ; SPACING 0.2 ;", "SPACING 0.2 ;"), "layer m1 must have WIDTH"),
    (replaced("SPACING 0.2 ;", ""), "layer m1 must have SPACING"),
    (replaced("WIDTH 0.2 ; SPACING 0.2", "WIDTH nan ; SPACING 0.2"), "must be 0.001..1e.06, not n"),
    (replaced("SPACING 0.2", "SPACING inf"), "must be 0..1e.06, not inf"),
    (replaced("PITCH 0.8 0.9", "PITCH 0"), "must be 0.001..1e.06, not 0"),
    (replaced("RESISTANCE 4", "RESISTANCE -4"), "must be 0..1e.06, not -4"),
    (replaced("RECT 0.4 4 0.5 5", "RECT 0.4 4 0.5 nan"), "must be -1e.06..1e.06, not nan"),
    (replaced("RECT 0.4 4 0.5 5", "RECT 0.4 4 0.5 5e5"), "a RECT must be at its cell, not up to"),
    (replaced("SIZE 1.6 BY 10", "SIZE 1.6 BY -10"), "must be 0..1e.06, not -10"),
)
"""Files that once gave a traceback or a number that is none, or that a router took for ever on."""


@pytest.mark.parametrize(("data", "says"), KNOWN)
def test_what_a_router_cannot_use_is_refused(tmp_path: Path, data: bytes, says: str) -> None:
    file = tmp_path / "file.lef"
    file.write_bytes(data)
    with pytest.raises(FileError, match=f"file.lef: is not understood: .*{says}"):
        read_routing_lef([file])


def to_place(path: Path) -> None:
    found = read_lef([path])
    for value in vars(found).values():
        assert value is None or 0 < value < 1e30


def to_route(path: Path) -> None:
    found = read_routing_lef([path])
    grid = grid_of(found, (80.0, 60.0))
    assert 0 < grid.columns * grid.rows * len(grid.layers) <= 1 << 28
    for layer in grid.layers:
        assert layer.step * grid.pitch[layer.layer.horizontal] >= layer.layer.spacing


@minutes
@pytest.mark.parametrize("read", [to_place, to_route])
def test_broken_lef(tmp_path: Path, read: Callable[[Path], None], seconds: float) -> None:
    file = tmp_path / "file.lef"
    good = [ROUTED.encode(), (TECHNOLOGY + CELLS).encode()]

    def one(data: bytes) -> None:
        file.write_bytes(data)
        read(file)

    for data in good[: 1 + (read is to_place)]:
        one(data)
    fuzz(one, broken(good, WORDS), seconds, [data for data, _ in KNOWN])


@pytest.mark.parametrize("pitch", ["0.001", "900"])
def test_pitches_that_are_not_of_a_die_are_refused(tmp_path: Path, pitch: str) -> None:
    """Crossings beyond memory, and none."""
    file = tmp_path / "file.lef"
    file.write_bytes(replaced("PITCH 0.8 0.9", f"PITCH {pitch}"))
    with pytest.raises(ArgumentError, match="must have pitches by which a die of 800 x 600 um has"):
        grid_of(read_routing_lef([file]), (800.0, 600.0))


def test_rules_as_large_as_can_be_take_no_time(tmp_path: Path) -> None:
    """A hundred million of lines apart, counted at once."""
    file = tmp_path / "file.lef"
    data = replaced("0.8 0.9 ; WIDTH 0.2", "0.01 ; WIDTH 0.001")
    file.write_bytes(data.replace(b"WIDTH 0 0.3", b"WIDTH 0 1e6").replace(b"AREA 0.3", b"AREA 1e6"))
    layer, _ = grid_of(read_routing_lef([file]), (80.0, 60.0)).layers
    assert layer.step * 0.01 >= 1e6
