"""Wires of nets: trees against all trees, delays against the sum over all paths."""

import itertools

import numpy as np
import pytest

from carrysave.asic.placement.technology import Technology
from carrysave.asic.placement.wires import Tree, joined, spef

Point = tuple[float, float]
TECHNOLOGY = Technology(0.2, 0.9, 2.72, "")


def shortest(points: list[Point]) -> float:
    """Return the length of the shortest spanning tree, by trying all parents of all points."""
    best = np.inf
    count = len(points)
    for above in itertools.product(range(count), repeat=count - 1):
        parents = [0, *above]
        seen = []
        for pin in range(1, count):
            at, steps = pin, 0
            while at and steps < count:
                at, steps = parents[at], steps + 1
            seen.append(at == 0)
        if all(seen):
            best = min(
                best,
                sum(
                    abs(points[pin][0] - points[parents[pin]][0])
                    + abs(points[pin][1] - points[parents[pin]][1])
                    for pin in range(1, count)
                ),
            )
    return best


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 6])
def test_wires_are_the_shortest_tree(count: int) -> None:
    rng = np.random.default_rng(count)
    for _ in range(3):
        points = [(float(x), float(y)) for x, y in rng.integers(0, 50, (count, 2))]
        order, above, lengths = joined(points)
        assert sorted(order) == list(range(count))
        assert (order[0], above[0], lengths[0]) == (0, 0, 0.0)
        assert all(parent < place for place, parent in enumerate(above) if place)
        for place in range(1, count):
            (x, y), (x0, y0) = points[order[place]], points[order[above[place]]]
            assert lengths[place] == abs(x - x0) + abs(y - y0)
        assert sum(lengths) == pytest.approx(shortest(points))


def test_wires_of_one_length_hang_from_what_came_first() -> None:
    points = [(0.0, 0.0), (2.0, 0.0), (1.0, 1.0)]
    assert joined(points) == ([0, 1, 2], [0, 0, 0], [0.0, 2.0, 2.0])


def test_delays_are_those_of_elmore() -> None:
    """Each segment delays all capacitance behind it, half of its own included."""
    tree = Tree((0, 0, 1, 1), (0.0, 100.0, 50.0, 30.0))
    loads = [0.0, 2.0, 3.0, 5.0]
    farads = [length * TECHNOLOGY.capacitance for length in tree.lengths]
    ohms = [length * TECHNOLOGY.resistance for length in tree.lengths]
    trunk = ohms[1] * (farads[1] / 2 + loads[1] + farads[2] + loads[2] + farads[3] + loads[3])
    wanted = [
        0.0,
        trunk,
        trunk + ohms[2] * (farads[2] / 2 + loads[2]),
        trunk + ohms[3] * (farads[3] / 2 + loads[3]),
    ]
    assert tree.delays(TECHNOLOGY, loads) == pytest.approx([own * 1e-6 for own in wanted])
    with pytest.raises(ValueError, match="longer"):
        tree.delays(TECHNOLOGY, loads[:3])


def test_spef_has_the_whole_capacitance_of_each_net() -> None:
    tree = Tree((0, 0, 0), (0.0, 10.0, 20.0))
    text = spef("top", iter([("n_1", ["u_1:Y", "u_2:A", "o[3]"], tree)]), TECHNOLOGY)
    assert "*D_NET n_1 6.0000" in text
    assert "*I u_1:Y O\n*I u_2:A I\n*P o[3] O" in text
    assert "1 u_1:Y 3.0000\n2 u_2:A 1.0000\n3 o[3] 2.0000" in text
    assert "1 u_1:Y u_2:A 9.000\n2 u_1:Y o[3] 18.000" in text


def test_spef_has_no_resistance_of_nothing() -> None:
    """Readers take none of 0 ohm: pins in one place have a thousandth between them."""
    tree = Tree((0, 0, 1), (0.0, 0.0, 1.0))
    text = spef("top", iter([("n", ["i", "u:A", "v:A"], tree)]), TECHNOLOGY)
    assert "1 i u:A 0.001\n2 u:A v:A 0.900" in text
