"""A space of designs: which, with which parameters, under which constraints."""

import itertools
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from carrysave.errors import UsageError, needs
from carrysave.exploration.constraint import CONSTRAINTS, STEPS, Constraint
from carrysave.exploration.front import CELLS, DEVICES
from golden.check import Parameter
from hw.catalog import CATALOG, Design
from hw.emit import user_files
from hw.unknown import nearest

__all__ = ["BUILT", "MOST", "Point", "Space"]

MOST = 200_000
"""Points of a space, constraints included, that are listed."""
BUILT = 2000
"""Points of a space that are built before the search; those of a larger one when they are measured,
unless a constraint is of ``macs``, which only what is built tells."""

Value = int | str | bool


@dataclass(frozen=True)
class Point:
    """A design of a space.

    Members
    -------
    values : of the parameters that the space has and the design knows.
    """

    design: Design
    values: Mapping[str, Value] = field(compare=False)

    @property
    def name(self) -> str:
        """What tells it apart: design and values."""
        return self.design.key


@dataclass(frozen=True)
class Space:
    """Designs, values of each parameter, and constraints.

    Parameters
    ----------
    designs : names.
    parameters : values of each; a design takes those that it knows.
    constraints : what must be true of parameters, or of figures of a result.

    Raises
    ------
    UsageError
        A design or parameter is unknown, a list is empty, no point is legal, or more than
        :data:`MOST` would have to be looked at.
    """

    designs: tuple[str, ...]
    parameters: Mapping[str, tuple[Value, ...]]
    constraints: tuple[Constraint, ...] = ()

    @classmethod
    def read(cls, path: Path) -> "Space":
        """Read a space from a TOML file."""
        try:
            table = tomllib.loads(user_files.read(path, text=True).decode())
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise UsageError(f"{path}: {error}") from None
        try:
            return cls.of_table(table)
        except UsageError as error:
            raise UsageError(f"{path}: {error}") from None

    @classmethod
    def of_table(cls, table: Mapping[str, Any]) -> "Space":
        """Make a space of a table as :meth:`read` finds it."""
        known = {"designs": list, "parameters": dict, "constraints": dict}
        for name, value in table.items():
            if name not in known:
                raise UsageError(str(nearest(name, known, "key of a space")))
            if not isinstance(value, known[name]):
                kind = "a list" if known[name] is list else "a table"
                raise UsageError(f"{name} must be {kind}, not {value!r}")
        constraints = table.get("constraints", {})
        texts: list[Any] = []
        for name, value in constraints.items():
            # `all` lists expressions; another name is a figure or parameter that must be a value.
            texts += (
                value if name == "all" and isinstance(value, list) else [f"{name} == {value!r}"]
            )
        if len(texts) > CONSTRAINTS:
            raise UsageError(f"constraints must be at most {CONSTRAINTS}, not {len(texts):,}")
        return cls(
            tuple(table.get("designs", ())),
            {name: _values(name, value) for name, value in table.get("parameters", {}).items()},
            tuple(map(Constraint.parse, texts)),
        )

    @classmethod
    def of_macs(cls, macs: int, *, blocks: bool = False) -> "Space":
        """Return the arrays of integers with so many multiply-accumulates in a cycle.

        Parameters
        ----------
        blocks : leave out what says how elements are built of logic.
        """
        sides = tuple(size for size in range(1, macs + 1) if macs % size == 0)
        return cls(
            ("systolic_os", "systolic_ws", "matrix_2d", "cube", "adder_tree"),
            {
                "m": sides,
                "n": sides,
                "k": sides,
                "k_max": (1024,),
                **({} if blocks else {"pe": ("mac", "opt1", "opt2"), "encoding": ("booth", "ent")}),
            },
            (Constraint.parse(f"macs == {macs}"),),
        )

    def __post_init__(self) -> None:
        """Check names and values."""
        needs("simpleeval")
        if not self.designs:
            raise UsageError("designs must be one or more, not none")
        for name in self.designs:
            if not isinstance(name, str) or name not in CATALOG:
                raise UsageError(str(nearest(str(name), CATALOG, "design")))
        kinds = {name: CATALOG[name].parameters for name in self.designs}
        every = {name: kind for known in kinds.values() for name, kind in known.items()}
        for name in self.parameters:
            if name not in every:
                raise UsageError(str(nearest(name, every, f"parameter of {', '.join(kinds)}")))
            for value in self.parameters[name]:
                _check(name, value, [known[name] for known in kinds.values() if name in known])

    def points(self) -> list[Point]:
        """List the legal points: those that designs accept and constraints of parameters allow.

        Of more than :data:`BUILT`, what only a component refuses is among them, unless a constraint
        is of ``macs``.

        Raises
        ------
        UsageError
            There is none, or too many would have to be looked at.
        """
        points: dict[str, Point] = {}
        refused = ""
        for name, values in self._combinations():
            if not self._holds(_given(name, values)):
                continue
            try:
                design = Design(name, values)
                if self._holds(_sizes(design)):
                    points.setdefault(design.key, Point(design, values))
            except (ValueError, TypeError) as error:
                refused = str(error)
        # A component may refuse more, and only it tells MACs; to build one takes ten times as long.
        if len(points) <= BUILT or any("macs" in one.names for one in self.constraints):
            for key, point in [*points.items()]:
                try:
                    if self._holds(facts_of(point.design)):
                        continue
                except (ValueError, TypeError) as error:
                    refused = str(error)
                del points[key]
        if not points:
            reason = f"; the last design says: {refused}" if refused else ""
            raise UsageError(f"space must have a point that its constraints allow{reason}")
        return list(points.values())

    def _holds(self, facts: Mapping[str, Any]) -> bool:
        return all(one.holds(facts) for one in self.constraints if one.names <= facts.keys())

    def _combinations(self) -> Iterator[tuple[str, dict[str, Value]]]:
        total = 0
        for name in self.designs:
            known = CATALOG[name].parameters
            chosen = {key: values for key, values in self.parameters.items() if key in known}
            count = 1
            for values in chosen.values():
                count *= len(values)
            total += count
            if total > MOST:
                raise UsageError(f"space must have {MOST:,} combinations at most, not {total:,}")
            steps = total * sum(one.steps for one in self.constraints)
            if steps > STEPS:
                raise UsageError(
                    f"constraints must take {STEPS:,} steps at most, not {steps:,}: names, numbers"
                    f" and operators of all, times {total:,} combinations"
                )
            for choice in itertools.product(*chosen.values()):
                yield name, dict(zip(chosen, choice, strict=True))

    def allows(self, point: Point, figures: Mapping[str, Any]) -> bool:
        """Return whether a result fulfils the constraints of figures."""
        facts = {**figures, **facts_of(point.design)}
        return all(one.holds(facts) for one in self.of_figures(point))

    def on(self, *, cells: bool) -> tuple["Space", dict[str, list[str]]]:
        """Leave out what says nothing of a target: constraints of figures that it never has.

        Parameters
        ----------
        cells : the target is a library of cells, else an FPGA.

        Returns
        -------
        The space, and of each constraint that is left out the figures.
        """
        never = DEVICES if cells else CELLS
        lacking = {one.text: sorted(one.names.intersection(never)) for one in self.constraints}
        left = {text: names for text, names in lacking.items() if names}
        constraints = tuple(one for one in self.constraints if one.text not in left)
        return replace(self, constraints=constraints), left

    def of_figures(self, point: Point) -> list[Constraint]:
        """List the constraints that only the figures of a point tell."""
        known = _sizes(point.design).keys() | {"macs"}
        return [one for one in self.constraints if one.names - known]


def _given(name: str, values: Mapping[str, Value]) -> dict[str, Any]:
    """Return the parameters of a design that is not made yet, as far as they are known."""
    return {key: value for key, value in values.items() if value is not None} | {"design": name}


def facts_of(design: Design) -> dict[str, Any]:
    """Return what is known of a design before synthesis: parameters, ``macs``, `design`."""
    return {**_sizes(design), "macs": macs_of(design)}


def _sizes(design: Design) -> dict[str, Any]:
    sizes = vars(design.spec)
    return {
        **{name: sizes[name] for name in ("m", "n", "k") if isinstance(sizes.get(name), int)},
        **design.parameters,
        "design": design.name,
    }


def macs_of(design: Design) -> float:
    """Return the multiply-accumulates in a cycle."""
    macs = design.component().operations_per_cycle / 2
    return int(macs) if macs == int(macs) else macs


def _check(name: str, value: Value, kinds: Sequence[Parameter]) -> None:
    """Refuse a value that none of some designs takes."""
    for kind in kinds:
        try:
            kind.check(name, value)
        except (ValueError, TypeError) as error:
            refused = error
        else:
            return
    raise UsageError(str(refused))


def _values(name: str, given: Any) -> tuple[Value, ...]:
    """Read a list of values, a range of integers, or one value."""
    if isinstance(given, Mapping):
        limits = {"min": None, "max": None, "step": 1, "factor": None} | dict(given)
        whole = [limits[key] for key in ("min", "max", "step")]
        if given.keys() - {"min", "max", "step", "factor"} or not all(
            isinstance(value, int) and not isinstance(value, bool) for value in whole
        ):
            raise UsageError(
                f"{name} must be a list, or min, max and step or factor, not {given!r}"
            )
        low, high, step = whole
        factor = limits["factor"]
        if factor is not None and not (isinstance(factor, int) and factor > 1 and low > 0):
            raise UsageError(f"factor of {name} must be an integer from 2 on, and min from 1 on")
        if step < 1:
            raise UsageError(f"step of {name} must be 1 or more, not {step}")
        values: Sequence[Any] = range(low, high + 1, step)
        if factor is not None:
            powers = (low * factor**power for power in range(64))
            values = list(itertools.takewhile(lambda value: value <= high, powers))
    else:
        values = given if isinstance(given, list) else [given]
    if not len(values):
        raise UsageError(f"{name} must have one value or more, not none: {given!r}")
    if len(values) > MOST:
        raise UsageError(f"{name} must have {MOST:,} values at most, not {len(values):,}")
    for value in values:
        if not isinstance(value, int | str):
            raise UsageError(f"values of {name} must be integers, texts or truth values: {value!r}")
    return tuple(dict.fromkeys(values))
