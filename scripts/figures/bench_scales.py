"""Errors of normal numbers in blocks with scales of several formats: docs/figures/precision.md."""

from collections.abc import Iterator

import numpy as np

from golden.formats.block import BlockFormat
from golden.formats.element import ElementFormat
from golden.formats.mx import MxFormat
from golden.formats.names import parse
from golden.formats.ue5m3 import Ue5m3Format

_ELEMENTS = ("int8", "int7", "int4", "e2m1")
_SHAPE = 4096, 1024


def error(fmt: BlockFormat, values: np.ndarray) -> float:
    """Return the root of the mean square of the error, over that of the values."""
    made = fmt.to_float(fmt.quantise(values))
    return float(np.sqrt(np.square(made - values).mean() / np.square(values).mean()))


def rows() -> Iterator[str]:
    """Yield the rows of the table, of elements in blocks of 32."""
    values = np.random.default_rng(0).normal(size=_SHAPE)
    for name in _ELEMENTS:
        element = parse(name)
        assert isinstance(element, ElementFormat)
        kinds: list[tuple[str, BlockFormat]] = [
            ("E8M0, `floor`", MxFormat(element=element)),
            ("E5M3, `nearest`", Ue5m3Format(element=element, scale_rule="nearest")),
            ("E5M3, `up`", Ue5m3Format(element=element)),
        ]
        errors = [(what, error(fmt, values)) for what, fmt in kinds]
        for what, one in errors:
            yield f"| {name} | {what} | {100 * one:.3f} % | {one / errors[0][1]:.2f} |"


if __name__ == "__main__":
    print("| elements | scales | error | ratio |\n| --- | --- | --- | --- |")
    print("\n".join(rows()))
