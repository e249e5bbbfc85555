"""Sliders over a model of designs: a part of a page, whose script computes what the model says."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["WhatIf"]


@dataclass(frozen=True)
class WhatIf:
    """Parameters of a design to choose, and what a model says of it, with intervals.

    Members
    -------
    title : of the part.
    facts : plain data of the model, see :func:`carrysave.exploration.what_if.facts`.
    """

    title: str
    facts: Mapping[str, Any]
