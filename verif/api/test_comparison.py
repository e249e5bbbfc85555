"""Comparisons in Python: designs by name, and what is said beside the figures."""

import pytest

import carrysave
from carrysave.api.comparison import _differences
from carrysave.api.design import Design
from carrysave.asic.options import Verilog
from carrysave.errors import ArgumentError, UsageError

SMALL = "a_width=2,b_width=2,accumulator_width=6"


def test_designs_may_be_text() -> None:
    names = [f"mac({SMALL})", f"opt1({SMALL})"]
    found = carrysave.compare(*names, target="generic", activity="none")
    assert found.names == names
    mapped = carrysave.Design("opt1", a_width=2, b_width=2, accumulator_width=6)
    assert found.results[1].module == mapped.module
    with pytest.raises(UsageError, match="must be like NAME or NAME"):
        carrysave.compare("mac", "mac(a")


def test_numbers_that_differ_by_chance_are_named() -> None:
    """An array of short sums beside one whose sums are as long as they are by default."""
    array, matrix = Design("systolic_os"), Design("matrix_2d", k_max=1024)
    (note,) = _differences(["a", "b"], [array, matrix])
    assert note.startswith("k_max differs: 65536 of a, 1024 of b; give it in all")
    # What was asked for is no surprise, variants differ, and what others have is not known.
    assert _differences(["a", "b"], [Design("systolic_os", k_max=2048), matrix]) == []
    assert _differences(["a", "b"], [array, Design("systolic_os", k_max=1024)]) == []
    assert _differences(["a", "b"], [array, Verilog(["b.v"], "b")]) == []
    assert _differences(["a", "b"], [array, Design("matrix_2d")]) == []


def test_what_no_figure_answers_is_refused() -> None:
    """Before the work: of a target without ns, of designs without operands A and B."""
    names = [f"mac({SMALL})", f"opt1({SMALL})"]
    for target, why in (("generic", "gates and FO4 alone"), ("xilinx7", "which is mapped only")):
        with pytest.raises(ArgumentError, match=f"period_ns and memory ask for ns.*{why}"):
            carrysave.compare(*names, target=target, period_ns=2)
    with pytest.raises(ArgumentError, match="objective energy is for cell libraries, not for ecp5"):
        carrysave.compare(*names, target="ecp5", period_ns=2, objective="energy")
    with pytest.raises(ArgumentError, match="memory is for designs that take operands A and B"):
        carrysave.compare("requantiser", names[0], memory="1GB/s")
    with pytest.raises(ArgumentError, match="period_ns must be greater than 0"):
        carrysave.compare(*names, target="ecp5", period_ns=-1)
