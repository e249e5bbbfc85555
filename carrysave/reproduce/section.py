"""Parts of a reproduced table as they are shown: cells of text, and pictures."""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["Section", "svg", "texts"]


@dataclass(frozen=True)
class Section:
    """A table of text.

    Members
    -------
    title : what it shows; may be empty.
    heads : titles of the columns.
    lines : a text for each column.
    names : columns at the left that are names, and not figures.
    """

    title: str
    heads: tuple[str, ...]
    lines: list[list[str]]
    names: int = 1


def texts(values: Sequence[Any], columns: Sequence[tuple[str, str]]) -> list[str]:
    """Format values by their columns, (title, format); text as it is, a dash for what is not."""
    return [
        value if isinstance(value, str) else "-" if value is None else form.format(value)
        for value, (_, form) in zip(values, columns, strict=True)
    ]


def svg(figure: Any) -> bytes:
    """Write a figure of matplotlib's as SVG, and close it; the same figure gives the same bytes."""
    import matplotlib
    from matplotlib import pyplot

    picture = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "carrysave", "svg.fonttype": "none"}):
        figure.savefig(picture, format="svg", metadata={"Date": None})
    pyplot.close(figure)
    return picture.getvalue()
