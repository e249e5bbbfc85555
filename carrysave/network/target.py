"""The co-processor for which a network is compiled: its numbers, without its hardware."""

from dataclasses import dataclass
from functools import cached_property

from carrysave.driver import Info, Number
from golden.soc.spec import CoprocessorSpec
from hw.catalog import Design
from hw.soc.coprocessor import discovery
from hw.soc.register_map import fields_of, register_map

__all__ = ["Target"]

_LACKING = ("formats", "scales", "stream")


@dataclass(frozen=True)
class Target:
    """A co-processor of the catalogue around an engine of integers.

    Raises
    ------
    ValueError
        It is none, or cannot do what products of codes need.
    """

    design: Design

    def __post_init__(self) -> None:
        """Check that networks can run on it."""
        if not isinstance(self.design.spec, CoprocessorSpec):
            raise ValueError(f"design must be a coprocessor, not {self.design.name!r}")
        for feature in _LACKING:
            if feature in self.info.features:
                raise ValueError(
                    f"engine must be one of integers in memory, not one with {feature}"
                )
        if not self.spec.bias:
            raise ValueError("bias must be true: zero points are taken out with it")

    @property
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

    def requantises(self, columns: int) -> bool:
        """Whether it makes codes of sums, by as many scales."""
        features = self.info.features
        return "requantiser" in features and (columns == 1 or "per_column" in features)

    def offset(self, name: str, low: int, high: int, number: Number) -> int:
        """Return what is taken from codes low..high to make numbers of the engine of them."""
        offset = 0 if number.low <= low and high <= number.high else low - number.low
        if high - offset > number.high:
            raise ValueError(
                f"{name} has codes {low}..{high}; the engine takes {number.low}..{number.high}"
            )
        return offset
