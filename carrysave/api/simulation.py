"""Matrix products: by a design's twin, and on its simulated Verilog."""

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from carrysave.api.call import telling
from carrysave.driver.batch import Work
from carrysave.progress import Steps
from carrysave.sim import formats as in_formats
from carrysave.sim import products, twin
from carrysave.sim.formats import FormatProduct, Operands
from golden.npe.npe import NpeSpec
from hw.catalog import Design

if TYPE_CHECKING:
    import numpy as np

    Formats = str | tuple[str, str] | None
    Scales = tuple["np.typing.ArrayLike", "np.typing.ArrayLike"] | None

__all__ = ["FormatProduct", "multiply", "simulate"]


def multiply(
    design: Design, a: Any, b: Any, formats: "Formats", scales: "Scales"
) -> "np.ndarray | FormatProduct":
    """Multiply by the twin, see :meth:`carrysave.api.design.Design.multiply`."""
    given = _in_formats(design, a, b, formats, scales)
    return twin.product(design, a, b) if given is None else in_formats.product(design.spec, given)


def simulate(
    design: Design,
    a: Any,
    b: Any,
    formats: "Formats",
    scales: "Scales",
    *,
    folder: str | PathLike[str],
    progress: Steps | bool,
) -> "np.ndarray | FormatProduct":
    """Multiply on the simulated design, see :meth:`carrysave.api.design.Design.simulate`."""
    given = _in_formats(design, a, b, formats, scales)
    if given is None:
        a, b = twin.operands(design, a, b)
    runs = Path(folder) / "runs"
    with telling(progress) as steps:
        steps.step(f"simulate {design.module}")
        if given is not None:
            return in_formats.multiply(design, given, runs, steps.advance)
        if design.engine is None:
            (product,) = products.multiply(design, [(a, b)], runs, steps.advance)
            return product
        work = Work(a=a, b=b)
        (product,), _ = products.run_works(design, [work], runs, progress=steps.advance)
    return product


def _in_formats(
    design: Design, a: Any, b: Any, formats: "Formats", scales: "Scales"
) -> Operands | None:
    """Return the operands of an array of lanes; None for other designs, which have no formats."""
    if isinstance(design.spec, NpeSpec):
        if formats is None:
            legal = ", ".join(design.spec.element.names)
            raise TypeError(f"formats must be given for {design.name}: two of {legal}")
        return in_formats.operands(design.spec, a, b, formats, scales)
    if formats is not None or scales is not None:
        raise TypeError(f"formats and scales are for arrays of lanes (npe), not {design.name}")
    return None
