"""Cycles of an attention head on the simulated co-processor, beside those of its two products."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from carrysave.compiler.lowered import golden
from carrysave.driver import Requantisation
from carrysave.driver.batch import Rows, Work
from carrysave.sim.products import run_works
from golden.npe.requantiser import dyadic
from golden.npe.vector_unit import vector_unit
from golden.soc.spec import CoprocessorSpec
from hw.catalog import Design

__all__ = ["LENGTH", "WIDTH", "measure_head"]

LENGTH, WIDTH = 128, 64
"""Tokens, and values of a query, a key, a value."""
_SPREAD = 1.5
"""Deviation of scores."""


def measure_head(side: int, folder: Path) -> dict[str, Any]:
    """Run scores, softmax and their product with V as one start; and the products alone.

    Parameters
    ----------
    side : rows and columns of the array, and lanes of the vector unit.
    folder : each simulation gets a folder of its own there.

    Returns
    -------
    ``array``, ``products`` and ``softmax`` (cycles of each alone), ``head`` (of all three), and
    ``of products``.

    Raises
    ------
    SystemExit
        Something is not what golden computes.
    """
    vector = f"vector_unit(signed=true,length={LENGTH},lanes={side})"
    design = Design.parse(
        "coprocessor", {"m": str(side), "n": str(side), "outstanding": "64", "vector": vector}
    )
    spec = design.spec
    assert isinstance(spec, CoprocessorSpec)
    assert spec.vector is not None
    rng = np.random.default_rng(1)
    queries, values = (rng.integers(-128, 128, (LENGTH, WIDTH)) for _ in range(2))
    keys = rng.integers(-128, 128, (WIDTH, LENGTH))
    scale = _SPREAD * 2**spec.vector.scale_width / float((queries @ keys).std())
    multiplier, shift = dyadic(scale, spec.requantiser.multiplier_width)
    how = Requantisation(multiplier=int(multiplier[0]), shift=int(shift[0]))
    scoring = Work(a=queries, b=keys, requantisation=how)
    scores = golden.run(spec, [scoring])[0]
    shares = np.array([vector_unit(spec.vector, "softmax", row)[0] for row in scores])
    mixed = golden.run(spec, [Work(a=shares, b=values)])[0]

    def cycles(works: Sequence[Work | Rows], wanted: Sequence[np.ndarray]) -> int:
        made, (counters,) = run_works(design, works, folder, one_start=True)
        for result, right in zip(made, wanted, strict=True):
            if not np.array_equal(result[:, : right.shape[1]], right):
                raise SystemExit(f"{design.module}: the simulated head is wrong")
        return int(counters["cycles"])

    softmax = Rows(a=None, operation="softmax")
    products = cycles([scoring, Work(a=shares, b=values)], [scores, mixed])
    alone = cycles([Rows(a=scores, operation="softmax")], [shares])
    head = cycles([scoring, softmax, Work(a=None, b=values)], [scores, shares, mixed])
    return {
        "array": f"{side} x {side}",
        "products": products,
        "softmax": alone,
        "head": head,
        "of products": head / products,
    }
