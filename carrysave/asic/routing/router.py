"""Runs the router on a problem, and makes wires of what it returns."""

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from carrysave.asic.native import compiled
from carrysave.asic.routing.problem import Pin, Problem

__all__ = ["Harm", "Route", "route"]

_VIA = 0.9
"""What a via costs, in um of wire."""
_TURNS = 300
_MENDS, _DEARER = 6, 3.0
"""How often nets are mended, and how much dearer a layer becomes each time to a net it harms."""

Harm = Callable[[dict[int, "Route"]], list[tuple[int, str]]]
"""Tells which of some routed nets have too much metal on a layer: net and name of the layer."""


@dataclass(frozen=True)
class Route:
    """The way of a net.

    Attributes
    ----------
    edges : pairs of nodes that metal or a via joins: a tree.
    chosen : of each pin the way that is taken; empty if there is none.
    routed : whether it reaches all pins and is in nobody's way.
    """

    pins: list[Pin]
    edges: list[tuple[int, int]]
    chosen: list[int]
    routed: bool


class _Layer(ctypes.Structure):
    _fields_ = tuple(
        (name, ctypes.c_int32) for name in ("horizontal", "step", "clear", "pads", "least")
    )


class _Problem(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_int32) for name in ("columns", "rows", "layers", "nets")),
        ("layer", ctypes.POINTER(_Layer)),
        *(
            (name, ctypes.c_void_p)
            for name in ("block", "pins", "accesses", "node", "pierced", "halos", "halo")
        ),
        ("scale", ctypes.c_void_p),
        *((name, ctypes.c_float) for name in ("wide", "high", "via")),
        ("turns", ctypes.c_int32),
    )


def route(
    problem: Problem, turns: int = _TURNS, harm: Harm = lambda routes: []
) -> dict[int, Route]:
    """Route the nets of a problem; those that cannot be say so.

    Parameters
    ----------
    turns : in which nets that share something are routed anew, at most.
    harm : looks for antennas, at first in all nets, then in those that have changed. Nets are
        routed anew with less of the layer that it names; the best of what came of it is returned.
    """
    grid, index = problem.grid, {net: at for at, net in enumerate(problem.nets)}
    names = [one.layer.name for one in grid.layers]
    scale = np.ones((len(index), len(names)), np.float32)
    arrays = _arrays(problem) | {"scale": scale}
    layers = (_Layer * len(grid.layers))(
        *(
            _Layer(one.layer.horizontal, one.step, one.clear, one.pads, one.least)
            for one in grid.layers
        )
    )
    given = _Problem(
        columns=grid.columns,
        rows=grid.rows,
        layers=len(grid.layers),
        nets=len(index),
        layer=layers,
        wide=grid.pitch[0],
        high=grid.pitch[1],
        via=_VIA,
        turns=turns,
        **{name: array.ctypes.data for name, array in arrays.items()},
    )
    library = _library()
    library.route(ctypes.byref(given))
    try:
        best = routes = _fetch(library, problem)
        harmed = dict.fromkeys(harm(routes))
        least = _lost(routes), len(harmed)
        for _ in range(_MENDS):
            dirty = np.zeros(len(index), np.uint8)
            for net, layer in harmed:
                if layer in names:
                    scale[index[net], names.index(layer)] *= _DEARER
                    dirty[index[net]] = 1
            if not dirty.any():
                break
            library.again(ctypes.c_void_p(dirty.ctypes.data))
            before, routes = routes, _fetch(library, problem)
            changed = {
                net: one for net, one in routes.items() if dirty[index[net]] or one != before[net]
            }
            rest = [each for each in harmed if each[0] not in changed]
            harmed = dict.fromkeys([*rest, *harm(changed)])
            if (now := (_lost(routes), len(harmed))) < least:
                best, least = routes, now
        return best
    finally:
        library.release()


def _lost(routes: dict[int, Route]) -> int:
    return sum(not one.routed for one in routes.values())


def _arrays(problem: Problem) -> dict[str, NDArray[np.generic]]:
    """Return what can be walked on, and the ways to pins, as the router has it."""
    nets = list(problem.nets.values())
    pins = [pin for each in nets for pin in each]
    nodes = [node for pin in pins for _, node, _ in pin.ways]
    halos = [halo for pin in pins for halo in pin.halos]
    return {
        "block": problem.block,
        "pins": _firsts([len(each) for each in nets]),
        "accesses": _firsts([len(pin.ways) for pin in pins]),
        "node": np.array(nodes, np.int32),
        "pierced": np.array([way.via for pin in pins for *_, way in pin.ways], np.uint8),
        "halos": _firsts([len(halo) for halo in halos]),
        "halo": np.array([node for halo in halos for node in halo], np.int32),
    }


def _fetch(library: ctypes.CDLL, problem: Problem) -> dict[int, Route]:
    routes, first = {}, 0
    for index, (net, each) in enumerate(problem.nets.items()):
        edges = np.zeros((library.edges(index), 2), np.int32)
        chosen = np.zeros(len(each), np.int32)
        at = (ctypes.c_void_p(array.ctypes.data) for array in (edges, chosen))
        routed = bool(library.fetch(index, *at))
        ways = [len(pin.ways) for pin in each]
        starts = [first, *(first + sum(ways[: k + 1]) for k in range(len(ways)))]
        taken = [
            one - start if start <= one < end else -1
            for one, (start, end) in zip(chosen.tolist(), pairwise(starts), strict=True)
        ]
        first = starts[-1]
        routes[net] = Route(each, [(a, b) for a, b in edges.tolist()], taken, routed)
    return routes


def _firsts(sizes: list[int]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(np.array(sizes, np.int64))]).astype(np.int64)


def _library() -> ctypes.CDLL:
    """Return the compiled router, from the cache if possible."""
    library = compiled(Path(__file__).with_name("router.cpp"), "the router")
    library.route.restype = library.again.restype = ctypes.c_int32
    library.release.restype = None
    library.edges.restype = ctypes.c_int64
    library.fetch.restype = ctypes.c_int32
    return library
