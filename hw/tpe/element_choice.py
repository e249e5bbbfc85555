"""What an array is built of: the choices, and their build parameters."""

from dataclasses import replace
from typing import Any

from golden.check import Choice, Parameter, check_fields
from golden.pe.mac import MacSpec
from hw.device.choice import TARGET_BUILD
from hw.pe.element import Element
from hw.pe.mac import MacElement
from hw.pe.opt1 import Opt1Element
from hw.pe.opt2 import Opt2Element

__all__ = ["ELEMENT_BUILD", "TREE_BUILD", "element_build", "make_element"]

_CELLS: dict[str, type[Element]] = {"opt1": Opt1Element, "opt2": Opt2Element, "mac": MacElement}


def element_build(*pes: str, pipeline: int, more: str = "") -> dict[str, Parameter]:
    """Return the build parameters of these elements, and of the resolver of carry-save sums.

    Parameters
    ----------
    pes : names of elements, the default first.
    pipeline : default: that with the best GOPS/mm2.
    more : where the default is another, in words.
    """
    registers = Element.BUILD["pipeline"]
    doc = f"{registers.doc}; if not given, {more}" if more else registers.doc
    return {
        "pe": Choice("processing element", pes[0], pes),
        "encoding": Element.BUILD["encoding"],
        "pipeline": replace(registers, default=pipeline, doc=doc),
        "adder": MacElement.BUILD["adder"],
        "upper": Opt1Element.BUILD["upper"],
    }


ELEMENT_BUILD = TARGET_BUILD | element_build("opt1", "mac", pipeline=0)
"""Elements of one product per cycle, or blocks of a target; these have no other value of the rest
than the default."""

TREE_BUILD = TARGET_BUILD | element_build("opt1", "opt2", "mac", pipeline=2)
"""Elements of k products per cycle, or blocks of a target."""


def make_element(
    spec: MacSpec, *, pe: str, encoding: str, pipeline: int, adder: str, upper: str
) -> Element:
    """Make an element.

    Raises
    ------
    TypeError, ValueError
        As :meth:`golden.check.Parameter.check` does; or if an element without carries is to have a
        counter.
    """
    build: dict[str, Any] = {"encoding": encoding, "pipeline": pipeline}
    parameters = {"pe": pe, **build, "adder": adder, "upper": upper}
    check_fields({name: TREE_BUILD[name] for name in parameters}, parameters)
    cell = _CELLS[pe]
    if "adder" in cell.BUILD:
        build["adder"] = adder
    if "upper" in cell.BUILD:
        build["upper"] = upper
    elif upper != TREE_BUILD["upper"].default:
        raise ValueError(f"upper must be {TREE_BUILD['upper'].default} with {pe}, not {upper!r}")
    return cell(spec, **build)
