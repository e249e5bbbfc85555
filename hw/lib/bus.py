"""What a bus is, for tools that connect blocks."""

from collections.abc import Mapping
from typing import NamedTuple

__all__ = ["Bus"]


class Bus(NamedTuple):
    """What a signature of a bus says of itself as its member ``bus``."""

    protocol: str
    parameters: Mapping[str, int]
