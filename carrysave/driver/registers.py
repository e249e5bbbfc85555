"""Addresses, fields and codes of the register map, read from its SystemRDL source.

Copied for a board, this module holds them as literals.
"""

from carrysave.ip.driver_sources import constants

__all__ = ["ABI", "ERRORS", "FIELDS", "JOB", "JOB_BYTES", "MAGIC", "RESPONSES"]

_MAP = constants()

FIELDS: dict[str, tuple[int, int, int]] = _MAP.FIELDS
"""Address, lowest bit and width of each field."""

ERRORS: dict[int, tuple[str, str]] = _MAP.ERRORS
"""Name and meaning of each error code."""

RESPONSES: dict[int, str] = _MAP.RESPONSES
"""What memory can answer."""

MAGIC: int = _MAP.MAGIC
ABI: int = _MAP.ABI
JOB: int = _MAP.JOB
"""Address of the registers of a job, whose image in memory is a descriptor."""

JOB_BYTES: int = _MAP.JOB_BYTES
