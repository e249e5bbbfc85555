"""What is asked of ``carrysave pack``: which weights, and how they are to be in memory."""

from dataclasses import dataclass, fields

import numpy as np

from carrysave.errors import ArgumentError, check_choice
from golden.lut.checkpoint import FORMATS
from golden.lut.layout import LayoutSpec
from golden.lut.trits import TRITS
from golden.lut.weights import GroupedWeights

__all__ = ["SOURCES", "PackRequest"]

SOURCES = ("auto", "float", "codes", *FORMATS)


@dataclass(frozen=True, kw_only=True)
class PackRequest:
    """A pack request; None for options not given on the command line."""

    tensor: str | None = None
    source: str | None = None
    rows: str | None = None
    bits: int | None = None
    group: str | None = None
    scheme: str | None = None
    scales: str | None = None
    layout: str | None = None
    fold: int | None = None
    beat: int | None = None
    columns: int | None = None
    codebook: str | None = None
    zeros: bool | None = None
    sparse: bool | None = None
    prune: str | None = None
    depth: int | None = None

    def __post_init__(self) -> None:
        """Check what no spec does."""
        if self.source is not None:
            check_choice("source", self.source, SOURCES)
        if self.rows is not None:
            check_choice("rows", self.rows, ("in", "out"))

    def refuse(self, where: str, *names: str) -> None:
        """Refuse options that do not apply: all, or those named."""
        for field in fields(self):
            if field.name in (names or (field.name,)) and getattr(self, field.name) is not None:
                raise ArgumentError(f"{{{field.name}}} is not for {{_where}}", _where=where)

    def turned(self, matrix: np.ndarray) -> np.ndarray:
        """Return a matrix with inputs as rows, or such a one as it was."""
        return matrix if self.rows == "in" else matrix.T

    @property
    def rows_per_scale(self) -> int:
        """Rows of a group; 0 for all of a column or a matrix."""
        if self.group in ("column", "tensor"):
            return 0
        text = self.group or "128"
        if not text.isdecimal() or int(text) < 1:
            raise ArgumentError(
                "{group} must be 1.. rows, column or tensor, not {text!r}", text=text
            )
        return int(text)

    def layout_of(self, weights: GroupedWeights) -> LayoutSpec:
        """Return the layout; options not given are chosen to fit."""
        layout = self.layout or "planes_inner"
        fold = self.fold
        if fold is None:
            fold = {"trits5": 0, "keys": 5}.get(layout, 4)
        grain = TRITS if layout == "trits5" else max(fold, 1)
        return LayoutSpec(
            layout=layout,
            bits=weights.bits,
            k=self.beat if self.beat is not None else 16 // grain * grain,
            n=64 if self.columns is None else self.columns,
            group=weights.group,
            fold=fold,
        )
