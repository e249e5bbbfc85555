"""Configurations: legal, all pairs of values, the same for the same seed."""

from itertools import islice

import pytest

from carrysave.regress.configurations import configurations, draw, options, pairs, samples
from hw.catalog import Design


@pytest.mark.parametrize("name", ["opt4e", "matrix_2d", "encoder", "float_mac"])
def test_draws_are_repeatable(name: str) -> None:
    designs = [draw(name, f"day-{number}") for number in range(8)]
    assert designs[3] == draw(name, "day-3")
    assert len({design.key for design in designs}) > 1


@pytest.mark.parametrize("name", ["encoder", "requantiser"])
def test_all_pairs_come_first(name: str) -> None:
    """As many designs as there are single values cannot have all pairs; a few times as many do."""
    values = samples(name, 3)
    first = [*islice(configurations(name, 3), 80)]
    seen = set().union(*(pairs(design, values) for design in first))
    sizes = [len(own) for own in values.values()]
    assert len(seen) == (sum(sizes) ** 2 - sum(size * size for size in sizes)) // 2
    assert len({design.key for design in first}) == len(first)


def test_pairs_that_no_row_keeps_are_drawn() -> None:
    """Many combinations are refused; whatever pair a legal design has is there all the same."""
    values = samples("opt4e", 5)
    seen = set().union(*(pairs(one, values) for one in islice(configurations("opt4e", 5), 120)))
    for number in range(150):
        assert pairs(draw("opt4e", f"other {number}"), values) <= seen


def test_list_is_the_same_for_the_same_seed() -> None:
    short, long = (
        [design.key for design in islice(configurations("mac", 7), count)] for count in (2, 5)
    )
    assert short == long[:2]
    assert long != [design.key for design in islice(configurations("mac", 8), 5)]


def test_few_configurations_end() -> None:
    """A design is listed once, also where there are not as many as are asked for."""
    found = [*islice(configurations("shift_gelu", 1), 300)]
    assert len({design.key for design in found}) == len(found) == 300


def test_words_make_the_design_again() -> None:
    for number in range(5):
        design = draw("mac", f"words {number}")
        name, *words = options(design)
        assert words[::2] == ["-p"] * (len(words) // 2)
        texts = dict(word.split("=", 1) for word in words[1::2])
        assert Design.parse(name, texts) == design
