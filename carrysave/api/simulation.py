"""Matrix products on the simulated Verilog of a design."""

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from carrysave.api.call import telling
from carrysave.driver.batch import Work
from carrysave.progress import Steps
from carrysave.sim import products, twin
from hw.catalog import Design

if TYPE_CHECKING:
    import numpy as np

__all__ = ["simulate"]


def simulate(
    design: Design,
    a: "np.typing.ArrayLike",
    b: "np.typing.ArrayLike",
    *,
    folder: str | PathLike[str],
    progress: Steps | bool,
) -> "np.ndarray":
    """Multiply on the simulated design, see :meth:`carrysave.api.design.Design.simulate`."""
    a, b = twin.operands(design, a, b)
    runs = Path(folder) / "runs"
    with telling(progress) as steps:
        steps.step(f"simulate {design.module}")
        if design.engine is None:
            (found,) = products.multiply(design, [(a, b)], runs, steps.advance)
            return found
        work = Work(a=a, b=b)
        (found,), _ = products.run_works(design, [work], runs, progress=steps.advance)
    return found
