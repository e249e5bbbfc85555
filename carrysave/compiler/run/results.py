"""What a run of a network makes, and what its products take."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from carrysave.compiler.lowered.operands import Operands
from carrysave.compiler.lowered.split_product import shares_of
from carrysave.compiler.program.cost import Spent
from carrysave.compiler.run.compare import Comparison

__all__ = ["ProductRun", "Run"]


@dataclass
class ProductRun:
    """Results of a product after a run; figures are per batch.

    Members
    -------
    product : which.
    shapes : M, K, N of its works; of those that go on with sums, K of both.
    macs : useful products.
    peak : the engine's maximum products per cycle, in its formats.
    estimate : by the cost model.
    rows, simulated : rows of the works, and those that were simulated.
    cycles, modelled : of the simulated part: counted by the hardware, and by the cost model.
    """

    product: Operands
    shapes: list[tuple[int, int, int]]
    macs: int
    peak: float
    estimate: Spent
    rows: int = 0
    simulated: int = 0
    cycles: int = 0
    modelled: int = 0

    def with_more(self, other: "ProductRun") -> "ProductRun":
        """Return this with a further product of the same weights, before any is simulated."""
        return replace(
            self,
            shapes=self.shapes + other.shapes,
            macs=self.macs + other.macs,
            estimate=self.estimate + other.estimate,
            rows=self.rows + other.rows,
        )

    @property
    def shares(self) -> dict[str, float]:
        """Formats of the works, and the share of K that each has."""
        return shares_of(self.product)

    @property
    def total(self) -> int:
        """Cycles of the product: the cost model's, corrected by its error on the simulated part.

        Not fewer than the engine's peak allows: the error of a few rows may not be that of all.
        """
        if not self.simulated:
            return self.estimate.cycles
        corrected = round(self.estimate.cycles * self.cycles / self.modelled)
        if self.simulated == self.rows:
            return corrected
        return max(corrected, math.ceil(self.macs / self.peak))


@dataclass
class Run:
    """A run as a whole.

    Members
    -------
    outputs, reference : by name: ours, and onnxruntime's; None if that is not installed.
    layers : in the order in which they run.
    comparison : where codes differ, if there is a reference.
    inputs, batch : number of inputs, and of those of one batch.
    wrong : works whose simulation differs from the golden model.
    host : operations of the host in the first batch, by operator, see
        :func:`carrysave.compiler.graph.host_work.operations`.
    seconds : by phase.
    axes : of the sample in each output; a state has none, and is that behind the last sample.
    """

    outputs: dict[str, np.ndarray]
    reference: dict[str, np.ndarray] | None
    layers: list[ProductRun]
    comparison: Comparison | None
    inputs: int
    batch: int
    simulation: str
    wrong: list[str]
    host: dict[str, int] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    axes: Mapping[str, int] = field(default_factory=dict)
