"""The list of designs: names by stage, each with its number; everything else follows from the name.

A design ``NAME`` of a stage is the component of that name in ``hw/STAGE/NAME.py``, its twin
``golden/STAGE/NAME.py``, and its bench in ``verif/STAGE/benches``, all imported on demand. User
packages add designs through the entry-point group ``carrysave.designs``; the entry point's name is
the design's, its value a component: ``my_mac = "my_package.hw.pe.my_mac:MyMac"``. The twin is then
``my_package.golden.pe.my_mac``, and ``BENCH`` a full module name.
"""

import contextlib
import hashlib
import importlib
import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from types import ModuleType
from typing import Any, ClassVar, Self

from carrysave.deprecation import Deprecation, former_attribute, renamed
from golden.check import Choice, Parameter, parameters_of, spelled
from hw.unknown import nearest

__all__ = [
    "ADDED_PARAMETERS",
    "CATALOG",
    "STAGES",
    "USER_DESIGN",
    "Catalogue",
    "Design",
    "Entry",
]

STAGES: dict[str, dict[str, int]] = {
    "pe": {
        "mac": 0, "opt1": 1, "opt2": 2, "laconic": 3, "opt3": 4, "opt4c": 5, "opt4e": 6, "lmul": 7,
    },
    "tpe": {
        "systolic_os": 8, "systolic_ws": 9, "cube": 10, "adder_tree": 11, "matrix_2d": 12,
        "digit_column": 13, "lut_tables": 14, "lut_core": 15, "lut_unit": 16, "bitserial_core": 17,
        "shift_add_core": 18, "ternary_core": 19, "over_weights": 20,
    },
    "npe": {
        "sl8": 21, "sl16": 22, "npe": 23, "aligner": 24, "requantiser": 25, "shiftmax": 26,
        "shift_gelu": 27, "encoder": 28, "float_mac": 29, "float_lut": 30, "block_scale": 31,
        "group_scale": 32, "aligned_dot": 33, "vector_unit": 37,
    },
    "soc": {"coprocessor": 34, "coprocessor_stream": 35, "coprocessor_uart": 36},
}  # fmt: skip
"""Designs in the order of an operand's path. Register ENGINE of a co-processor holds the number of
its engine, so a number never changes."""

USER_DESIGN = 255
"""The number of every design of a user's package."""

_FORMER = {
    former: Deprecation.add(what=former, instead=present, since="0.2.0")
    for former, present in {
        "FOREIGN": "USER_DESIGN",
        "HOWS": "BUILD",
        "default_hows": "default_build",
    }.items()
}


def __getattr__(name: str) -> Any:
    """Return what had another name."""
    if name != "FOREIGN":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    _FORMER[name].tell()
    return USER_DESIGN


_ROOT = __name__.removesuffix("hw.catalog")
"""Prefix of our packages' names: empty in a checkout, ``carrysave.`` installed."""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One generator: its hardware, its golden model, and its verification.

    Members
    -------
    component : a wiring.Component class with SPEC, SUMMARY, BENCH, EVIDENCE, BUILD, latency and
        operations_per_cycle; a component that holds an engine also has ENGINE, the default one.
    golden : the module of its twin.
    bench : its cocotb bench, the name of a module.
    """

    name: str
    stage: str
    number: int
    plugin: EntryPoint | None = None

    @cached_property
    def component(self) -> Any:
        """The hardware."""
        if self.plugin is not None:
            return self.plugin.load()
        module = importlib.import_module(f"{_ROOT}hw.{self.stage}.{self.name}")
        return getattr(module, "".join(word.capitalize() for word in self.name.split("_")))

    @cached_property
    def golden(self) -> ModuleType:
        """The numpy twin, a function of the design's name in a module of the same path."""
        path = self.component.__module__.split(".")
        path[path.index("hw")] = "golden"
        return importlib.import_module(".".join(path))

    @property
    def bench(self) -> str:
        """The cocotb bench."""
        bench: str = self.component.BENCH
        return bench if self.plugin else f"{_ROOT}verif.{self.stage}.benches.{bench}"

    @property
    def spec(self) -> Any:
        """The class of its spec: what is computed."""
        return self.component.SPEC

    @property
    def summary(self) -> str:
        """What it is, in one line."""
        return str(self.component.SUMMARY)

    @property
    def evidence(self) -> tuple[str, ...]:
        """What proves it."""
        evidence: tuple[str, ...] = self.component.EVIDENCE
        return evidence

    @cached_property
    def engine(self) -> "EngineText | None":
        """The parameter ``engine``, if the component holds one."""
        default = getattr(self.component, "ENGINE", None)
        return default and EngineText("engine and its parameters", default)

    @cached_property
    def vector(self) -> "VectorText | None":
        """The parameter ``vector``, if the component can hold a vector unit."""
        default = getattr(self.component, "VECTOR", None)
        return default and VectorText("unit for rows of matrices, beside the engine", default)

    @property
    def build(self) -> dict[str, Parameter]:
        """Parameters of how it is built; they change no result."""
        build: dict[str, Parameter] | None = _member(self.component, "BUILD", "HOWS")
        if build is None:
            raise AttributeError(f"{self.name} has no BUILD: parameters of how it is built")
        return build

    hows = former_attribute("0.2.0", "Entry.hows", "Entry.build")

    @property
    def default_build(self) -> Callable[[Any, Mapping[str, Any]], dict[str, Any]] | None:
        """What makes build parameters of spec and parameters, where defaults depend on these."""
        function: Callable[[Any, Mapping[str, Any]], dict[str, Any]] | None
        function = _member(self.component, "default_build", "default_hows")
        return function

    @cached_property
    def parameters(self) -> dict[str, Parameter]:
        """Every parameter: first what is computed, then how it is built."""
        inside = {"engine": self.engine, "vector": self.vector}
        present = {name: kind for name, kind in inside.items() if kind is not None}
        return {**present, **parameters_of(self.spec), **self.build}


def _member(component: Any, name: str, former: str) -> Any:
    """Return what a component has by a name, or by its former one; None if by neither."""
    if not hasattr(component, name) and hasattr(component, former):
        _FORMER[former].tell()
        return getattr(component, former)
    return getattr(component, name, None)


class Catalogue(Mapping[str, Entry]):
    """Entries by name: those of :data:`STAGES`, then those of user packages."""

    def __init__(self) -> None:
        self._ours = {
            name: Entry(name=name, stage=stage, number=number)
            for stage, names in STAGES.items()
            for name, number in names.items()
        }

    @cached_property
    def _of_users(self) -> dict[str, Entry]:
        """Designs of user packages; of two with one name, ours or the first one wins."""
        return {
            point.name: Entry(name=point.name, stage="user", number=USER_DESIGN, plugin=point)
            for point in reversed(entry_points(group="carrysave.designs"))
            if point.name not in self._ours
        }

    def __getitem__(self, name: str) -> Entry:
        return self._ours.get(name) or self._of_users[name]

    def __iter__(self) -> Iterator[str]:
        yield from self._ours
        yield from self._of_users

    def __len__(self) -> int:
        return len(self._ours) + len(self._of_users)


@dataclass(frozen=True)
class EngineText(Parameter):
    """An engine of the catalogue with its parameters, as in ``systolic_os(m=4,n=4)``."""

    @property
    def legal(self) -> str:
        """The engines."""
        names = engines()
        return f"one of {', '.join(names)}, with parameters as in {names[0]}(m=4,n=4)"

    def check(self, name: str, value: Any) -> Any:
        """Refuse text that does not describe an engine."""
        if not isinstance(value, str):
            raise self.refuse(name, value, TypeError)
        self.design(name, value)
        return value

    def parse(self, name: str, text: str) -> str:
        """Parse an engine; parameters at their defaults are left out."""
        return self.text(self.design(name, text))

    def design(self, name: str, text: str) -> "Design":
        """Make the engine that a text describes."""
        parts = spelled(name, text)
        if parts is None or parts[0] not in CATALOG or not _is_engine(CATALOG[parts[0]]):
            raise self.refuse(name, text)
        design = Design.parse(*parts)
        if not getattr(design.spec, "stored", True):
            raise ValueError(f"{name} must take codes as they are, not {text!r}")
        return design

    def extended(
        self, name: str, text: str, more: Mapping[str, Any], *, parse: bool = False
    ) -> str:
        """Describe an engine with more parameters, given by values or, to `parse`, by texts."""
        inside = self.design(name, text)
        kinds = inside.entry.parameters
        explicit = (spelled(name, text) or ("", {}))[1]
        values = {**{key: inside.parameters[key] for key in explicit}, **inside.changed}
        for key in more:
            if key not in kinds:
                raise nearest(key, kinds, f"parameter of {inside.name}")
        for key, value in more.items():
            values[key] = kinds[key].parse(key, value) if parse else value
        return self.text(Design(inside.name, values))

    @staticmethod
    def text(design: "Design", explicit: Collection[str] = ()) -> str:
        """Describe an engine by what differs from the defaults, and by `explicit` parameters."""
        values = {**{key: design.parameters[key] for key in explicit}, **design.changed}
        parts = [f"{key}={values[key]}" for key in design.parameters if key in values]
        return f"{design.name}({','.join(parts)})" if parts else design.name


@dataclass(frozen=True)
class VectorText(Parameter):
    """A vector unit with its parameters, as in ``vector_unit(lanes=4)``, or ``none``.

    What a text does not say is the default; of a unit `on_device`, what is best on FPGAs.
    """

    NAME: ClassVar[str] = "vector_unit"

    @property
    def legal(self) -> str:
        """Both."""
        return f"none or {self.NAME}, with parameters as in {self.NAME}(lanes=4)"

    def check(self, name: str, value: Any) -> Any:
        """Refuse text that does not describe a vector unit."""
        if not isinstance(value, str):
            raise self.refuse(name, value, TypeError)
        self.design(name, value)
        return value

    def parse(self, name: str, text: str) -> str:
        """Parse a vector unit; defaults are left out, but where there are others on a device."""
        design = self.design(name, text)
        if design is None:
            return "none"
        given = (spelled(name, text) or ("", {}))[1]
        return EngineText.text(design, design.device_values().keys() & given.keys())

    def design(self, name: str, text: str, *, on_device: bool = False) -> "Design | None":
        """Make the vector unit that a text describes."""
        if text == "none":
            return None
        parts = spelled(name, text)
        if parts is None or parts[0] != self.NAME:
            raise self.refuse(name, text)
        design = Design.parse(*parts)
        if not on_device:
            return design
        best = design.device_values(explicit=parts[1])
        return Design(design.name, {**design.parameters, **best})


def engines() -> list[str]:
    """Return the names of what a co-processor can hold."""
    return [name for name, entry in CATALOG.items() if _is_engine(entry)]


def _is_engine(entry: Entry) -> bool:
    """Return whether a co-processor can hold it."""
    from golden.engine import EngineSpec
    from golden.npe.npe import NpeSpec

    return issubclass(entry.spec, (EngineSpec, NpeSpec))


CATALOG = Catalogue()
_OPTIONS = (
    *("shares", "lists", "group_scales", "top_k", "random_width", "amax", "code_bytes"),
    *("lean", "tap_rows", "watchdog", "row_factors", "codebook", "array_clock", "sparse"),
    *("transpose", "gather", "blend", "scratch", "trits", "windows", "taps", "table"),
)
ADDED_PARAMETERS = {"ternary_core": ("sparsity", "select"), "sl8": ("w4a8",)} | {
    "npe": ("zeros", "w4a8"),
    "bitserial_core": ("counters",),
    **dict.fromkeys(("matrix_2d", "cube", "adder_tree"), ("sparsity",)),
    "coprocessor": ("vector", "id_width", *_OPTIONS),
    "coprocessor_stream": _OPTIONS,
    "coprocessor_uart": ("vector", "flash", *_OPTIONS),
    "vector_unit": ("quotient_bits", "exponential", "block"),
}
"""Parameters that a design did not have at first: at their defaults its digest is as before."""

_LONGEST = 120
"""Longest module name, characters; Verilator replaces names longer than 127."""


@dataclass(frozen=True, eq=False)
class Design:
    """One entry of the catalogue with all its parameters; ``carrysave.Design`` is one that can act.

    Parameters
    ----------
    name : of the entry.
    parameters : values that differ from the defaults; complete after construction.

    Raises
    ------
    ValueError
        Unknown name or parameter, value out of range.
    TypeError
        Value of the wrong kind.
    """

    name: str
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check all names and values, and fill in the defaults."""
        if self.name not in CATALOG:
            raise nearest(self.name, CATALOG, "design")
        kinds = self.entry.parameters
        given = {}
        for name, value in self.parameters.items():
            if name not in kinds:
                raise nearest(name, kinds, f"parameter of {self.name}")
            given[name] = kinds[name].check(name, kinds[name].named(value))
        complete = {name: given.get(name, kind.default) for name, kind in kinds.items()}
        object.__setattr__(self, "parameters", complete)
        self.spec  # noqa: B018  (a spec may refuse a combination)
        complete.update((key, value) for key, value in self.defaults.items() if key not in given)

    @classmethod
    def parse(cls, name: str, texts: Mapping[str, str]) -> Self:
        """Make a design from parameters as text."""
        if name not in CATALOG:
            raise nearest(name, CATALOG, "design")
        kinds = CATALOG[name].parameters
        known = {key: text for key, text in texts.items() if key in kinds}
        engine = CATALOG[name].engine
        if len(known) < len(texts) and engine is not None:
            inside = known.get("engine", engine.default)
            more = {key: text for key, text in texts.items() if key not in known}
            texts = {**known, "engine": engine.extended("engine", inside, more, parse=True)}
        for key in texts:
            if key not in kinds:
                raise nearest(key, kinds, f"parameter of {name}")
        return cls(name, {key: kinds[key].parse(key, text) for key, text in texts.items()})

    @property
    def entry(self) -> Entry:
        """The entry of the catalogue."""
        return CATALOG[self.name]

    @cached_property
    def defaults(self) -> dict[str, Any]:
        """What the parameters are that are not given; some depend on others."""
        defaults = {name: kind.default for name, kind in self.entry.parameters.items()}
        dependent = self.entry.default_build
        if dependent is None:
            return defaults
        return {**defaults, **dependent(self.spec, self.parameters)}

    @property
    def changed(self) -> dict[str, Any]:
        """The parameters that are not at their defaults: with the name, all of the design."""
        defaults = self.defaults
        return {key: value for key, value in self.parameters.items() if value != defaults[key]}

    @cached_property
    def engine(self) -> Self | None:
        """The engine inside, if it holds one."""
        kind = self.entry.engine
        if kind is None:
            return None
        inside = kind.design("engine", self.parameters["engine"])
        return type(self)(inside.name, inside.parameters)

    @cached_property
    def vector(self) -> "Design | None":
        """The vector unit inside, if it holds one."""
        kind, on_device = self.entry.vector, self.device is not None
        if kind is None:
            return None
        return kind.design("vector", self.parameters["vector"], on_device=on_device)

    @property
    def device(self) -> str | None:
        """The device whose own blocks it, or the engine in it, is built of; None for logic."""
        given = (self.engine or self).parameters
        target = "xilinx7" if given.get("counters") == "lut6" else given.get("target", "generic")
        return None if target == "generic" else target

    @renamed("0.2.0", told="explicit")
    def device_values(self, explicit: Collection[str] = ()) -> dict[str, str]:
        """Return what is best on FPGAs, of the parameters that are not explicit, where legal."""
        best: dict[str, str] = {}
        for name, kind in self.entry.build.items():
            if name not in explicit and isinstance(kind, Choice) and kind.on_device is not None:
                with contextlib.suppress(ValueError):
                    values = {**self.parameters, **best, name: kind.on_device}
                    Design(self.name, values).component()
                    best[name] = kind.on_device
        return best

    @cached_property
    def spec(self) -> Any:
        """What is computed."""
        names = parameters_of(self.entry.spec)
        inside = {} if self.engine is None else {"engine": self.engine.spec}
        if self.vector is not None:
            inside["vector"] = self.vector.spec
        return self.entry.spec(**{name: self.parameters[name] for name in names}, **inside)

    @cached_property
    def module(self) -> str:
        """Name of the Verilog module: the entry's and the parameters that differ from defaults.

        If that is too long for simulators, a digest of the parameters replaces them.
        """
        name = self.name
        for key, value in self.changed.items():
            text = re.sub(r"[^\w]+", "_", str(value)).strip("_")
            number = str(int(value)).replace("-", "m") if not isinstance(value, str) else ""
            name += f"_{key}_{text}" if isinstance(value, str) else f"_{key}{number}"
        if len(name) > _LONGEST:
            name = f"{self.name}_{self.digest}"
        return name

    @cached_property
    def key(self) -> str:
        """Canonical JSON of name and parameters; :data:`ADDED_PARAMETERS` only if they differ."""
        kinds, added = self.entry.parameters, ADDED_PARAMETERS.get(self.name, ())
        values = {
            name: value
            for name, value in self.parameters.items()
            if name not in added or value != kinds[name].default
        }
        return json.dumps({"design": self.name, **values}, sort_keys=True, separators=(",", ":"))

    @property
    def digest(self) -> str:
        """What tells designs apart: 64 bits of a hash of name and parameters, in hexadecimal."""
        return hashlib.sha256(self.key.encode()).hexdigest()[:16]

    def component(self) -> Any:
        """Build the component."""
        build = self._build_values
        if self.engine is not None:
            build |= {
                "engine": self._engine_component(self.engine),
                "number": self.engine.entry.number,
                "digest": int(self.digest, 16),
            }
        if self.vector is not None:
            build["vector"] = self.vector.component()
        return self.entry.component(self.spec, **build)

    @cached_property
    def latency(self) -> int:
        """The component's latency; of one that holds an engine, the engine's alone is built."""
        inside = self.component() if self.engine is None else self._engine_component(self.engine)
        return int(inside.latency)

    def _engine_component(self, engine: "Design") -> Any:
        return engine.entry.component(self.spec.inside.spec, **engine._build_values)

    @property
    def _build_values(self) -> dict[str, Any]:
        """Values of the parameters of how it is built."""
        return {name: self.parameters[name] for name in self.entry.build}

    def __eq__(self, other: object) -> bool:
        """Compare the canonical JSON, of classes that add to this one, too."""
        return self.key == other.key if isinstance(other, Design) else NotImplemented

    def __hash__(self) -> int:
        """Hash the canonical JSON."""
        return hash(self.key)
