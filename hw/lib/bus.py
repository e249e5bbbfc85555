"""Description of a bus, for tools that connect blocks."""

from collections.abc import Mapping
from typing import NamedTuple

__all__ = ["Bus"]


class Bus(NamedTuple):
    """Describes a bus signature, as its member ``bus``."""

    protocol: str
    parameters: Mapping[str, int]
