"""Units for low-bit weights: which there are for given weights and activations."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from hw.catalog import Design

__all__ = ["ACTIVATIONS", "WEIGHTS", "Rival", "ablation", "products", "rivals"]

ACTIVATIONS = {
    "int8": (8, False),
    "int16": (16, False),
    "fp8 aligned": (10, True),
    "fp16 aligned": (13, True),
}
"""Bits of an activation, and whether the least never comes: aligned to a shared exponent, floats
are integers of either sign. 10 bits hold every E4M3 code from 2^-5 of the greatest on exactly."""

WEIGHTS = {"1": 1, "1.58": 2, "2": 2, "4": 4, "8": 8}
"""Bits of a weight as it is stored, by what it holds."""

_K = 16
_DEPTH = 4096
_LEAN = {"slack": 4, "held": False}
"""What makes lanes that take planes of bits smallest at this clock."""


@dataclass(frozen=True)
class Rival:
    """A design that multiplies activations by low-bit weights.

    Members
    -------
    kind : what it is, in few words.
    design : of two rows of activations.
    """

    kind: str
    design: Design


def rivals(activation: str, weight: str, columns: int, **hows: Any) -> list[Rival]:
    """List the designs for activations of :data:`ACTIVATIONS` and weights of :data:`WEIGHTS`.

    Weights of one bit are 0 and 1, or, on the odd grid, -1 and 1. Parallel multipliers have two
    bits at least. All have two rows of activations, and sums of 4096 products.

    Parameters
    ----------
    activation, weight : which.
    columns : weights that share an activation.
    hows : parameters that all designs get, such as ``adder``.
    """
    return [
        Rival(kind, Design(name, {**parameters, **hows}))
        for kind, name, parameters in _rivals(activation, weight, columns)
    ]


def _rivals(
    activation: str, weight: str, columns: int
) -> Iterator[tuple[str, str, dict[str, Any]]]:
    a_width, symmetric = ACTIVATIONS[activation]
    b_width = WEIGHTS[weight]
    both = {"depth": _DEPTH}
    tile = both | {"m": 2, "n": columns, "a_width": a_width}
    planes = tile | _LEAN | {"b_width": b_width, "b_signed": b_width > 1}
    tree = {"k": _K, "pe": "mac", "pipeline": 0}
    multiplied = max(b_width, 2)
    yield "MAC", "adder_tree", tile | tree | {"b_width": multiplied, "encoding": "none"}
    # The weight is what is recoded, and so comes first.
    turned = both | {"m": columns, "n": 2, "a_width": multiplied, "b_width": a_width}
    yield "MAC, Booth", "adder_tree", turned | tree | {"encoding": "booth"}
    if weight == "1.58":
        ternary = tile | {"k": _K}
        yield "ternary", "ternary_core", ternary
        yield "ternary pairs", "ternary_core", ternary | {"mode": "pair", "keys": True}
        threes = {"mode": "table", "group": 3, "keys": True, "k": 15}
        yield "ternary LUT, mu = 3", "ternary_core", ternary | threes
        yield "LUT K = 2, two planes", "ternary_core", ternary | {"mode": "two_plane"}
        return
    yield "bit-serial", "bitserial_core", planes | {"k": _K}
    if b_width > 1:
        yield "shift-add", "shift_add_core", planes | {"k": _K}
    for group, lookups in ((2, 8), (3, 5), (4, 4)):
        kind = f"LUT K = {group}, KG = {lookups}"
        table: dict[str, Any] = planes | {"group": group, "lookups": lookups}
        table |= {"symmetric": symmetric}
        yield kind, "lut_core", table
        if group < 4 and b_width > 1:
            yield f"{kind}, all planes", "lut_core", table | {"parallel": True}
        if group == 2:
            odd = {"weights": "odd", "negation": "constant", "table": "half", "b_signed": False}
            yield f"{kind}, odd", "lut_core", table | odd


def ablation(columns: int) -> list[Rival]:
    """List the steps from a conventional LUT core to the LUT tensor core, of W2A8 and K = 4."""
    tile: dict[str, Any] = {"m": 2, "n": columns, "group": 4, "lookups": 1, "depth": _DEPTH}
    tile |= _LEAN
    half = tile | {"table": "half", "weights": "odd", "b_signed": False}
    steps = {
        "conventional": tile | {"folded": False},
        "reinterpretation": half | {"folded": False},
        "negation folded": half | {"negation": "constant"},
        "tables from outside": half | {"negation": "constant", "generator": "external"},
    }
    return [Rival(name, Design("lut_core", how)) for name, how in steps.items()]


def products() -> list[Rival]:
    """List units that multiply E4M3."""
    fp8 = {"format": "e4m3", "adder": "ripple"}
    exact = fp8 | {"mode": "exact"}
    return [
        Rival("L-Mul", Design("lmul", fp8)),
        Rival("exact, by a carry", Design("lmul", exact)),
        Rival("exact, multiplied", Design("lmul", exact | {"exact": "multiply"})),
    ]
