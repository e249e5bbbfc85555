"""The co-processor for which a network is compiled: its parameters, without its hardware."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, Self

from carrysave.compiler.target.dataflow import ANY
from carrysave.compiler.target.dataflow import check as check_dataflow
from carrysave.driver import Info, Mode
from carrysave.driver_modes import element_formats, modes
from golden.formats.element import ElementFormat
from golden.npe.npe import NpeSpec
from golden.soc.memory_timing import MemoryTiming
from golden.soc.ring_build import RingBuild
from golden.soc.ring_cycles import start_cycles
from golden.soc.spec import CoprocessorSpec
from hw.catalog import Design
from hw.soc.coprocessor import discovery
from hw.soc.registers.rdl import fields_of, register_map
from hw.tpe.rows_engine import RowsEngine

__all__ = ["Target"]

_WIDEST = 64
_INTEGERS = "int8"
"""Format of codes, for a multi-format engine."""


@dataclass(frozen=True)
class Target:
    """A co-processor of the catalogue, with an integer or a multi-format engine.

    Parameters
    ----------
    design : of the catalogue.
    golden : it is computed by golden alone: sums may have more bits than the driver reads.
    timing : how long its memory takes; None: as its design says.
    scaled : products are of blocks of codes with scales, whose sums are floats: no quantised
        networks, but steps of a training.
    dataflow : of products: of :data:`carrysave.compiler.target.dataflow.CHOICES`.

    Raises
    ------
    ValueError
        It is not a co-processor, or cannot run networks; or it is no such dataflow.
    """

    design: Design
    golden: bool = False
    timing: MemoryTiming | None = None
    scaled: bool = False
    dataflow: str = ANY

    def __post_init__(self) -> None:
        """Check that networks can run on it."""
        check_dataflow(self.dataflow)
        if not isinstance(self.design.spec, CoprocessorSpec):
            raise ValueError(f"design must be a coprocessor, not {self.design.name!r}")
        if "stream" in self.info.features:
            raise ValueError("engine must be one with matrices in memory, without stream")
        if self.spec.inside.a_sides and not self.scaled:
            raise ValueError("engine must be one with matrices in memory, without scales")
        if self.scaled:
            self.info.require("scales")
            return
        if self.info.sums.bits > _WIDEST and not self.golden:
            raise ValueError(
                f"sums must be of {_WIDEST} bits at most to run on the block, "
                f"not {self.info.sums.bits}"
            )
        if not self.spec.bias:
            raise ValueError("bias must be true: zero points are taken out with it")

    def checked(self) -> Self:
        """Return it, once its hardware is known to fit together, which golden does not look at.

        Raises
        ------
        ValueError
            Parameters of how it is built do not fit together.
        """
        self.design.component()
        return self

    @cached_property
    def spec(self) -> CoprocessorSpec:
        """What is built."""
        spec = self.design.spec
        assert isinstance(spec, CoprocessorSpec)
        return spec

    @cached_property
    def info(self) -> Info:
        """The hardware's discovery registers, and what is known of its memory."""
        engine = self.design.engine
        assert engine is not None
        digest = int(self.design.digest, 16)
        top = register_map(dict(discovery(self.spec, engine.entry.number, digest)))
        info = Info.read({field.name: field.reset for field in fields_of(top)}.__getitem__)
        beat = self.memory.beat(self.spec.bytes)
        stores = replace(info.stores, latency=self.memory.latency, beat=beat)
        return replace(info, stores=stores)

    @property
    def memory(self) -> MemoryTiming:
        """How long its memory takes."""
        return self.timing or self.spec.memory_timing

    @property
    def start(self) -> int:
        """Cycles of the smallest product, which each takes besides its rows."""
        return start_cycles(self.spec, self.memory, self.ring_build)

    @cached_property
    def formats(self) -> Mapping[str, ElementFormat]:
        """Operand formats, by name, of a multi-format engine."""
        return element_formats(self.spec)

    @cached_property
    def modes(self) -> Mapping[tuple[str, str], Mode]:
        """Pairs of them, of A and B."""
        return modes(self.spec)

    @cached_property
    def mode(self) -> Mode:
        """The mode for codes of quantised networks; of blocks with scales, the first of all."""
        if self.scaled:
            return next(iter(self.modes.values()))
        if self.modes:
            return self.modes[_INTEGERS, _INTEGERS]
        return self.info.mode

    @cached_property
    def zero_modes(self) -> list[Mode]:
        """Modes for codes whose blocks of B have zero points, B of the fewest bits first."""
        known = [one for (a, _), one in self.modes.items() if a == _INTEGERS and one.zeros]
        return sorted(known, key=lambda mode: mode.b.bits)

    @property
    def bipolar(self) -> bool:
        """Codes are odd numbers: the engine multiplies signs, or sums of these."""
        return self.spec.inside.spec.bipolar

    @property
    def integers(self) -> str:
        """Name of the format for codes of quantised networks, in a multi-format engine."""
        return f"{_INTEGERS} x {_INTEGERS}"

    def peak(self, mode: Mode | None) -> float:
        """Maximum products per cycle in these formats; None: for integers."""
        mode = mode or self.mode
        engine = self.spec.engine
        if isinstance(engine, NpeSpec):
            cycles = engine.element.cycles(mode.a_format, mode.b_format)
        else:
            cycles = engine.planes * engine.passes
        return self.info.peak * mode.codes / cycles

    @cached_property
    def ring_build(self) -> RingBuild:
        """What cycles depend on of how it is built."""
        engine = self.design.engine
        assert engine is not None
        latency, gap = _engine_timing(engine.name, tuple(engine.parameters.items()))
        return RingBuild(int(self.design.parameters["requantisers"]), latency, gap)

    def check_integers(self) -> None:
        """Refuse an engine that cannot multiply codes of quantised networks."""
        if self.modes and _INTEGERS not in self.formats:
            names = ", ".join(self.formats)
            raise ValueError(f"engine must have the format {_INTEGERS}; it has {names}")

    def requantises(self, columns: int) -> bool:
        """Whether it can requantise sums, with this number of scales."""
        features = self.info.features
        rounds = self.spec.inside.result is not None  # to its result format, instead
        return (
            not rounds and "requantiser" in features and (columns == 1 or "per_column" in features)
        )


@lru_cache(maxsize=64)
def _engine_timing(name: str, parameters: tuple[tuple[str, Any], ...]) -> tuple[int, int]:
    """Return an engine's latency, and the cycles between its tiles."""
    engine = Design(name, dict(parameters)).component()
    return engine.latency, (isinstance(engine, RowsEngine) and engine.gap) or 0
