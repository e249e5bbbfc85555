"""Cell libraries of which the tools can make nothing are refused before any work."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from carrysave.asic.liberty import cells
from carrysave.asic.liberty.cells import Library
from carrysave.asic.probe import probe

_CELL = re.compile(r"^ *cell *\((\w+)\) *\{(?:(?!^ *cell *\().)*", re.M | re.S)
_VALUES = re.compile(r"(?<=values \()[^;]*(?=\))|(?<=values\()[^;]*(?=\))")


def without(pattern: str) -> Callable[[str], str]:
    def change(text: str) -> str:
        end = text.rindex("}")
        kept = _CELL.sub(lambda cell: "" if re.match(pattern, cell[1]) else cell[0], text[:end])
        return kept + text[end:]

    return change


def without_delays(text: str) -> str:
    return _VALUES.sub(lambda values: re.sub(r"-?\d+(\.\d*)?(e-?\d+)?", "0.0", values[0]), text)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (without("NAND"), "library must have a usable two-input NAND with an area"),
        (without("INV"), "library must have a usable inverter"),
        (without("BUF|CLKBUF"), "library must have a usable buffer"),
        (without("DFF|LATCH"), "library must be one that Yosys, ABC and OpenSTA take.*flip-flops"),
        (without_delays, "one that Yosys, ABC and OpenSTA take"),
        (
            lambda text: text.replace("lu_table_template", "lu_table"),
            "must have cells.*AND2X1 at line 133.*template must be one of the library's",
        ),
    ],
)
def test_library_that_lacks_something(
    tmp_path: Path, change: Callable[[str], str], said: str
) -> None:
    whole = cells.osu018().text
    text = change(whole)
    assert text != whole
    (tmp_path / "part.lib").write_text(text)
    with pytest.raises(ValueError, match=said):
        probe(Library.load(tmp_path / "part.lib"))


def test_whole_library_is_taken() -> None:
    assert 0.2 < probe(cells.osu018()) < 0.8
    # Clock-to-q 2 FO4, setup 1, and the load: NAND2X2 and output, 8 / 3 + 4 inverters' inputs.
    assert probe(cells.generic()) == pytest.approx(3 + (8 / 3 + 4) / 5, abs=1e-3)
