"""Draws designs of the catalogue: legal, of any combination of parameters, small enough to run."""

import json
from random import Random
from typing import Any

from golden.check import Choice, Flag, Integer, Parameter, Subset
from golden.formats.minifloat import SHORT_NAMES
from golden.formats.names import FormatName
from golden.npe.float_sum import MinifloatName
from golden.npe.result import ResultName
from hw.catalog import CATALOG, Design, EngineText

__all__ = ["command", "draw"]

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
_K_MAX = 100


def draw(name: str, seed: str) -> Design:
    """Draw a design, the same one for the same seed.

    Parameters
    ----------
    seed : any text.
    name : of the catalogue's entry.
    """
    return _design(Random(f"{name} {seed}"), name)


def command(design: Design, seed: int) -> str:
    """Return the command that verifies a design again."""
    kinds = design.entry.parameters
    given = " ".join(
        f"-p '{key}={json.dumps(value) if isinstance(value, bool) else value}'"
        for key, value in design.parameters.items()
        if value != kinds[key].default
    )
    return f"carrysave verify {design.name} {given} --seed {seed}".replace("  ", " ")


def _design(random: Random, name: str) -> Design:
    """Draw parameters until a design takes them together."""
    kinds = CATALOG[name].parameters
    for _ in range(_TRIES):
        # Many defaults at times, few at others: some faults need one odd value, some need two.
        share = random.random()
        values = {
            key: kind.default if _may_stay(key, kind) and random.random() < share
            else _value(random, key, kind)
            for key, kind in kinds.items()
        }  # fmt: skip
        try:
            design = Design(name, values)
            design.component()
        except ValueError:
            continue
        return design
    raise RuntimeError(f"no legal parameters of {name} in {_TRIES} tries")


def _may_stay(key: str, kind: Parameter) -> bool:
    """Tell whether the default is small enough."""
    return not isinstance(kind, EngineText) and not (
        isinstance(kind, Integer) and kind.default > _GREATEST.get(key, kind.high)
    )


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
            kept = random.sample(options, random.randint(1, len(options)))
            return ",".join(option for option in options if option in kept)
        case EngineText():
            # The co-processor's benches close a coverage that products of a few k cannot reach.
            engine = _design(random, random.choice(_ENGINES))
            while engine.parameters.get("k_max", _K_MAX) < _K_MAX:
                engine = _design(random, engine.name)
            return EngineText.text(engine)
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
