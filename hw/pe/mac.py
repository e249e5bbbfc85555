"""Plain multiply-accumulate: one carry-propagate addition per cycle."""

from typing import Any, ClassVar

from amaranth import C, Module, Value

from golden.check import Parameter, complete
from golden.pe.mac import MacSpec
from hw.arith.adder import ADDER, resolve
from hw.arith.bit_heap import BitHeap
from hw.device import GENERIC, family
from hw.device.choice import DSPS, TARGET, check_target
from hw.lib.evidence import ELEMENT
from hw.lib.shared_module import SharedModule
from hw.pe.block_stream import BlockStream
from hw.pe.element import ACCUMULATOR_ARRIVAL, Element
from hw.pe.element_stream import StreamPe

__all__ = ["Mac", "MacElement"]


class MacElement(Element):
    """Adds each product to an accumulator that is resolved every cycle.

    Product and accumulator share one bit heap, so there is one carry propagation per cycle, not
    two. Members: see :class:`Element`; ``o`` has no carries.

    Parameters
    ----------
    adder : str
        How: carry propagation, see :func:`hw.arith.adder.resolve`.
    """

    module = "mac"
    BUILD: ClassVar[dict[str, Parameter]] = {
        **Element.BUILD,
        "adder": ADDER,
    }

    def __init__(
        self,
        spec: MacSpec,
        *,
        encoding: str = "ent",
        pipeline: int = 0,
        adder: str = "sklansky",
    ):
        super().__init__(spec, encoding=encoding, pipeline=pipeline)
        self.BUILD["adder"].check("adder", adder)
        self.adder = adder

    def _heights(self, products: BitHeap) -> list[int]:
        return [1] * products.width

    def _last_delay(self, products: BitHeap) -> float:
        heap = products.copy()
        heap.add_columns([[C(0, 1)]] * heap.width, arrival=ACCUMULATOR_ARRIVAL)
        # Two gates and the levels of a prefix adder.
        return heap.schedule([2] * heap.width).delay + 2 + heap.width.bit_length()

    def _accumulate(
        self, m: Module, products: BitHeap, accumulator: list[list[Value]]
    ) -> list[list[Value]]:
        """Put the accumulator on the heap of products, and resolve it."""
        products.add_columns(accumulator, arrival=ACCUMULATOR_ARRIVAL)
        rows = products.compress(m, [2] * products.width)
        return [[bit] for bit in resolve(m, rows, self.adder)]


class Mac(StreamPe):
    """Sums products of operand pairs.

    Computes :func:`golden.pe.mac.mac`, exactly. With a `target` it is built of that device's
    multiplier blocks, or of its logic with `dsps` 0, and a sum that is not taken stalls the input
    some sums later.

    Examples
    --------
    >>> mac = Mac(MacSpec(k=2, a_width=4, b_width=8))
    >>> mac.i.payload.shape()  # two codes of each operand, and the end of a run
    StructLayout({'a': 8, 'b': 16, 'last': 1})
    >>> mac.latency, mac.operations_per_cycle
    (2, 4)
    """

    SPEC = MacSpec
    SUMMARY = "plain multiply-accumulate: one carry-propagate addition per cycle"
    BENCH = "tb_mac"
    EVIDENCE = ELEMENT

    CELL = MacElement
    BUILD: ClassVar[dict[str, Parameter]] = {"target": TARGET, "dsps": DSPS, **MacElement.BUILD}

    def __init__(self, spec: MacSpec, **build: Any):
        build = complete(self.BUILD, build)
        check_target(build, self.BUILD)
        target, dsps = build.pop("target"), build.pop("dsps")
        super().__init__(spec, **build)
        self.blocks = None if target == GENERIC else BlockStream(spec, family(target), dsps)

    @property
    def shared_modules(self) -> tuple[SharedModule, ...]:
        """The one cell."""
        return super().shared_modules if self.blocks is None else self.blocks.shared_modules

    @property
    def latency(self) -> int:
        """Cycles from the last pairs of a sum to the sum."""
        return super().latency if self.blocks is None else self.blocks.latency

    def elaborate(self, platform):
        if self.blocks is None:
            return super().elaborate(platform)
        m = Module()
        self.blocks.build(m, self.i, self.o)
        return m
