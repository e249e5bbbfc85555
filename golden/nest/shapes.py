"""Nests of the catalogue's designs: array shapes with plain MACs, and their transformations."""

from collections.abc import Callable, Mapping
from typing import Any

from golden.nest.nest import Nest
from golden.nest.notation import Loop, Node, Step
from golden.nest.transform import (
    constant_time,
    encode_once,
    opt1,
    opt2,
    opt3,
    opt4c,
    opt4e,
    recoded,
)

__all__ = ["FAMILY", "array", "element", "nest_of", "weight_stationary"]


def element(*, k: int, planes: int, radix: int = 4) -> Nest:
    """Make the nest of one plain MAC.

    Parameters
    ----------
    k : operand pairs per cycle.
    planes : digits of a code of A.
    radix : 4, or 2 if A is not encoded.
    """
    return Nest((Loop("k", None, _mac(k, planes, radix)),), radix)


def array(*, m: int, n: int, k: int = 1, planes: int, radix: int = 4) -> Nest:
    """Make the nest of m x n elements with one element of C and k pairs per cycle each.

    With k = 1 it is that of the output-stationary systolic array and of the 2D matrix, which
    differ in how operands get there; with more it is that of the 3D cube and, where m is 1, of
    multiplier-adder trees. Parameters: as :func:`element`.
    """
    element = Loop("k", None, _mac(k, planes, radix))
    tile = Loop("m", m, (Loop("n", n, (element,), parallel=True),), parallel=True)
    return Nest((Loop("m", None, (Loop("n", None, (tile,)),)),), radix)


def weight_stationary(*, m: int, n: int, k: int, planes: int, radix: int = 4) -> Nest:
    """Make the nest of k x n elements that hold one code of B each, while m rows of A pass.

    A sum grows from element to element down a column, and continues in the next tile of K. B is the
    operand that is encoded. Weights arrive one per cycle and column: hardware needs m >= k to have
    them in time. Parameters: as :func:`element`.
    """
    column = Loop("k", k, _mac(1, planes, radix), parallel=True, chain=True)
    rows = Loop("m", m, (Loop("n", n, (column,), parallel=True),))
    tile = Loop("n", None, (Loop("k", None, (rows,)),))
    return Nest((Loop("m", None, (tile,)),), radix, "b")


def _mac(k: int, planes: int, radix: int) -> tuple[Node, ...]:
    digits = Loop("bw", planes, (Step.MAP, Step.SHIFT), parallel=True)
    products = (Step.ENCODE, digits) if radix == 4 else (digits,)
    if k > 1:
        products = (Loop("k", k, products, parallel=True),)
    return (*products, Step.HALF_REDUCE, Step.ACCUMULATE, Step.ADD)


_SHAPES = ("systolic_os", "systolic_ws", "cube", "adder_tree", "matrix_2d", "digit_column")
_ELEMENTS: dict[str, tuple[Callable[[Nest], Nest], ...]] = {
    "mac": (),
    "opt1": (opt1,),
    "opt2": (opt1, opt2),
    "opt3": (opt1, opt3),
    "opt4c": (opt1, opt3, opt4c),
    "opt4e": (opt1, opt3, opt4c, opt4e),
}

FAMILY = (*_ELEMENTS, *_SHAPES)
"""Designs that have a loop nest."""


def nest_of(name: str, parameters: Mapping[str, Any]) -> Nest:
    """Make the nest of a design.

    Parameters
    ----------
    name : of the catalogue.
    parameters : all of the design's.

    Raises
    ------
    ValueError
        The design is not of the bit-weight family, or has no visible digits.
    """
    if name not in FAMILY:
        raise ValueError(f"{name} has no loop nest; these have: {', '.join(FAMILY)}")
    encoding = parameters.get("encoding", "booth")
    if encoding == "operator":
        raise ValueError("encoding must be other than operator: only the tool knows its digits")
    stationary = name == "systolic_ws"
    width, signed = (parameters[f"{'b' if stationary else 'a'}_{of}"] for of in ("width", "signed"))
    sizes = {size: parameters[size] for size in ("m", "n", "k") if size in parameters}
    if encoding == "none":
        sizes |= {"planes": width, "radix": 2}
    else:
        sizes |= {"planes": (width + 1) // 2 if signed else width // 2 + 1}
    if name in _ELEMENTS and "n" not in sizes and opt4c not in _ELEMENTS[name]:
        nest = element(**sizes)
    elif stationary:
        nest = weight_stationary(**sizes)
    else:
        nest = array(**{"m": 1, "n": 1, **sizes})
    if encoding == "ent" and name in _SHAPES:
        nest = encode_once(nest)
    for step in _ELEMENTS[parameters.get("pe", name)]:
        nest = step(nest)
    if parameters.get("a_recoded"):
        nest = recoded(nest)
    return constant_time(nest) if parameters.get("constant_time") else nest
