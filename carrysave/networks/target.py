"""The co-processor for which a network is compiled: its numbers, without its hardware."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from carrysave.driver import Info, Mode
from carrysave.driver_modes import element_formats, modes
from golden.formats.element import ElementFormat
from golden.npe.npe import NpeSpec
from golden.soc.spec import CoprocessorSpec
from hw.catalog import Design
from hw.soc.coprocessor import discovery
from hw.soc.registers.rdl import fields_of, register_map

__all__ = ["Target"]

_LACKING = ("scales", "stream")
_WIDEST = 64
_INTEGERS = "int8"
"""Format of codes, of an engine that has several."""


@dataclass(frozen=True)
class Target:
    """A co-processor of the catalogue, around an engine of integers or of several formats.

    Raises
    ------
    ValueError
        It is none, or cannot do what networks need.
    """

    design: Design

    def __post_init__(self) -> None:
        """Check that networks can run on it."""
        if not isinstance(self.design.spec, CoprocessorSpec):
            raise ValueError(f"design must be a coprocessor, not {self.design.name!r}")
        for feature in _LACKING:
            if feature in self.info.features:
                raise ValueError(f"engine must be one with matrices in memory, without {feature}")
        if self.info.sums.bits > _WIDEST:
            raise ValueError(f"sums must be of {_WIDEST} bits at most, not {self.info.sums.bits}")
        if not self.spec.bias:
            raise ValueError("bias must be true: zero points are taken out with it")

    @cached_property
    def spec(self) -> CoprocessorSpec:
        """What is built."""
        spec = self.design.spec
        assert isinstance(spec, CoprocessorSpec)
        return spec

    @cached_property
    def info(self) -> Info:
        """What the hardware would tell of itself."""
        top = register_map(dict(discovery(self.spec, self.design.component().latency, 0)))
        return Info.read({field.name: field.reset for field in fields_of(top)}.__getitem__)

    @cached_property
    def formats(self) -> Mapping[str, ElementFormat]:
        """Formats of operands, by name, of an engine that has several."""
        return element_formats(self.spec)

    @cached_property
    def modes(self) -> Mapping[tuple[str, str], Mode]:
        """Pairs of them, of A and B."""
        return modes(self.spec)

    @cached_property
    def mode(self) -> Mode:
        """How codes of quantised networks are multiplied."""
        if self.modes:
            return self.modes[_INTEGERS, _INTEGERS]
        return self.info.mode

    @property
    def integers(self) -> str:
        """Name of the format of codes of quantised networks, of an engine that has several."""
        return f"{_INTEGERS} x {_INTEGERS}"

    def peak(self, mode: Mode | None) -> float:
        """Products a cycle, at most, of codes in these formats; None: in those of integers."""
        mode = mode or self.mode
        engine = self.spec.engine
        if isinstance(engine, NpeSpec):
            cycles = engine.element.cycles(mode.a_format, mode.b_format)
        else:
            cycles = engine.planes * engine.passes
        return self.info.peak * mode.codes / cycles

    def check_integers(self) -> None:
        """Refuse an engine that does not multiply codes of quantised networks."""
        if self.modes and _INTEGERS not in self.formats:
            names = ", ".join(self.formats)
            raise ValueError(f"engine must have the format {_INTEGERS}; it has {names}")

    def requantises(self, columns: int) -> bool:
        """Whether it makes codes of sums, by as many scales."""
        features = self.info.features
        rounds = self.spec.inside.result is not None  # to a format of its own, instead
        return (
            not rounds and "requantiser" in features and (columns == 1 or "per_column" in features)
        )
