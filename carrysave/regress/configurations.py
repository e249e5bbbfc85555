"""Draws designs of the catalogue: legal, of any combination of parameters, small enough to run."""

import json
from collections.abc import Iterator, Mapping
from itertools import combinations
from random import Random
from typing import Any

from covertable import make

from golden.check import Choice, Flag, Integer, Parameter, Subset
from golden.formats.minifloat import SHORT_NAMES
from golden.formats.names import FormatName
from golden.npe.float_sum import MinifloatName
from golden.npe.result import ResultName
from hw.catalog import CATALOG, Design, EngineText, VectorText

__all__ = ["configurations", "draw", "options", "pairs", "samples"]

# Greatest values of what makes a design large or its bench long, and of nothing else.
_GREATEST = {
    "m": 5, "n": 5, "k": 9, "lookups": 5, "lanes": 6, "columns": 4, "group": 6, "reuse": 9,
    "block": 70, "length": 40, "depth": 5000, "registers": 5, "slack": 9, "divisor": 20,
    "sums": 2048, "a_bytes": 4096, "b_bytes": 4096, "memory_bytes": 16384,
}  # fmt: skip
_ENGINES = [
    name
    for name, entry in CATALOG.items()
    if entry.stage in ("tpe", "npe") and {"m", "n"} <= entry.parameters.keys()
]
_TRIES = 500
_TRIES_OF_ROW = 40
"""Tries with ever fewer values of a row, and with both of a pair."""
_DRAWN = 2
"""Values of a parameter that are drawn, besides corners, for pairs."""
_K_MAX = 100

Pair = tuple[tuple[str, Any], tuple[str, Any]]
"""Two parameters, each with a value."""


def configurations(name: str, seed: int) -> Iterator[Design]:
    """List different designs of an entry: for all pairs of values, then at random, without end.

    The values are those of :func:`samples`. Only a whole design tells whether it is legal, which
    a library of covering arrays cannot ask: of each row that one proposes, as many values are kept
    as a design takes, and then each pair that is still missing is drawn with all else at random.
    A pair that is in no design of some tries is taken for one that none has.

    Parameters
    ----------
    name : of the catalogue's entry.
    seed : of all that is drawn; the same seed gives the same list.
    """
    random = Random(f"{name} {seed}")
    values = samples(name, seed)
    known: set[str] = set()
    seen: set[Pair] = set()
    rows = make(values, salt=str(seed)) if len(values) > 1 else []
    # However few of them are run, they are not always those with the least of all.
    random.shuffle(rows)
    for row in rows:
        design = _design(random, name, row)
        seen |= pairs(design, values)
        if design.key not in known:
            known.add(design.key)
            yield design
    for one, other in combinations(values, 2):
        for pair in (((one, a), (other, b)) for a in values[one] for b in values[other]):
            if pair in seen:
                continue
            tries = (_try(random, name, dict(pair)) for _ in range(_TRIES_OF_ROW))
            made = next(filter(None, tries), None)
            if made is not None:
                seen |= pairs(made, values)
                known.add(made.key)
                yield made
    repeated = 0
    while repeated < _TRIES:
        design = _design(random, name)
        repeated = repeated + 1 if design.key in known else 0
        if not repeated:
            known.add(design.key)
            yield design


def samples(name: str, seed: int) -> dict[str, list[Any]]:
    """Return values of each parameter that are tried in pairs: all, or corners and drawn ones."""
    random = Random(f"values of {name} {seed}")
    return {key: _sample(random, key, kind) for key, kind in CATALOG[name].parameters.items()}


def pairs(design: Design, values: Mapping[str, list[Any]]) -> set[Pair]:
    """Return the pairs of some values that a design has."""
    chosen = [
        (key, design.parameters[key]) for key in values if design.parameters[key] in values[key]
    ]
    return set(combinations(chosen, 2))


def draw(name: str, seed: str) -> Design:
    """Draw a design, the same one for the same seed.

    Parameters
    ----------
    seed : any text.
    name : of the catalogue's entry.
    """
    return _design(Random(f"{name} {seed}"), name)


def options(design: Design) -> list[str]:
    """Return the words of a command line that name a design and its parameters."""
    words = [design.name]
    for key, value in design.changed.items():
        words += ["-p", f"{key}={json.dumps(value) if isinstance(value, bool) else value}"]
    return words


def _design(random: Random, name: str, wanted: Mapping[str, Any] | None = None) -> Design:
    """Draw parameters until a design takes them together.

    Parameters
    ----------
    wanted : values of some parameters, of which the tries keep fewer and fewer.
    """
    for number in range(_TRIES):
        share = 1 - number / _TRIES_OF_ROW
        chosen = {
            key: value
            for key, value in (wanted or {}).items()
            if not number or random.random() < share
        }
        design = _try(random, name, chosen)
        if design is not None:
            return design
    raise RuntimeError(f"no legal parameters of {name} in {_TRIES} tries")


def _try(random: Random, name: str, wanted: Mapping[str, Any]) -> Design | None:
    """Draw what is not wanted; return the design, if there is one."""
    # Many defaults at times, few at others: some faults need one odd value, some need two.
    share = random.random()
    values = {
        key: wanted[key]
        if key in wanted
        else kind.default
        if _may_stay(key, kind) and random.random() < share
        else _value(random, key, kind)
        for key, kind in CATALOG[name].parameters.items()
    }
    try:
        design = Design(name, values)
        design.component()
    except ValueError:
        return None
    return design


def _may_stay(key: str, kind: Parameter) -> bool:
    """Return whether the default is small enough."""
    return not isinstance(kind, EngineText) and not (
        isinstance(kind, Integer) and kind.default > _GREATEST.get(key, kind.high)
    )


def _sample(random: Random, key: str, kind: Parameter) -> list[Any]:
    """Return values of a parameter: all of a few, else the least, the greatest and drawn ones."""
    match kind:
        case Choice(options=options):
            return list(options)
        case Flag():
            return [False, True]
        case Integer(low=low, high=high):
            corners = [low, min(high, _GREATEST.get(key, high))]
        case _:
            corners = []
    if _may_stay(key, kind):
        corners.append(kind.default)
    drawn = [_value(random, key, kind) for _ in range(_DRAWN)]
    return list(dict.fromkeys([*corners, *drawn]))


def _value(random: Random, key: str, kind: Parameter) -> Any:
    """Draw a value, corners more often than others."""
    match kind:
        case Integer(low=low):
            high = min(kind.high, _GREATEST.get(key, kind.high))
            if random.random() < 0.2:
                return random.choice([low, high])
            if high - low < 200:
                return random.randint(low, high)
            return low + int(
                random.uniform(0, 1) * 2 ** random.uniform(0, (high - low).bit_length() - 1)
            )
        case Flag():
            return random.random() < 0.5
        case Choice(options=options):
            return random.choice(options)
        case Subset(options=options):
            chosen = random.sample(options, random.randint(1, len(options)))
            return ",".join(option for option in options if option in chosen)
        case EngineText():
            # The co-processor's benches close a coverage that products of a few k cannot reach.
            engine = _design(random, random.choice(_ENGINES))
            while engine.parameters.get("k_max", _K_MAX) < _K_MAX:
                engine = _design(random, engine.name)
            return EngineText.text(engine)
        case VectorText():
            unit = _design(random, kind.NAME)
            return random.choice([kind.default, EngineText.text(unit)])
        case MinifloatName() | ResultName() | FormatName():
            return _format(random, key, kind)
    raise AssertionError(f"{key} is of an unknown kind, {kind!r}")


def _format(random: Random, key: str, kind: Parameter) -> str:
    """Draw the name of a format that the parameter takes."""
    while True:
        spelled = (
            f"e{random.randint(1, 8)}m{random.randint(0, 10)}"
            f"{random.choice(['ieee', 'nan', 'finite', 'fnuz'])}"
            f"{random.choice(['', '', f'_b{random.randint(-9, 9)}'])}"
        )
        posit = f"posit{random.randint(3, 16)}e{random.randint(0, 3)}"
        integer = f"{random.choice('u ').strip()}int{random.randint(2, 16)}"
        name = random.choice([*SHORT_NAMES, spelled, spelled, spelled, posit, integer, "fixed"])
        try:
            kind.check(key, name)
        except ValueError:
            continue
        return name
