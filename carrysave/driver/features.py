"""What a device has, by names."""

from collections.abc import Callable

from .errors import CoprocessorError
from .registers import FIELDS, ROUNDINGS

__all__ = ["read_features", "read_group_scales", "read_rounding", "read_scratch"]

_FEATURES = tuple(
    name[9:] for name in FIELDS if name.startswith("features_") and name != "features_rounding"
)
_MORE = tuple(name[14:] for name in FIELDS if name.startswith("more_features_"))
"""Those for which there was no place beside the others."""
_GROUP_SCALES = ("", "fp16", "bf16")
"""Formats of scales of groups, by number."""
_PAGE = 12
"""Bits of an address in the least memory on chip."""


def read_features(field: Callable[[str], int]) -> frozenset[str]:
    """Return the features of a device, by names of fields; more than the first, if it has more."""
    features = {name for name in _FEATURES if field(f"features_{name}")}
    if "more" in features:
        features |= {name for name in _MORE if field(f"more_features_{name}")}
    return frozenset(features - {"more"})


def read_group_scales(field: Callable[[str], int]) -> str:
    """Read the format of scales of groups; "" without; CoprocessorError: no build has that."""
    number = field("more_features_group_scales")
    if number >= len(_GROUP_SCALES):
        most = len(_GROUP_SCALES) - 1
        raise CoprocessorError(f"more_features_group_scales must be 0..{most}, not {number}")
    return _GROUP_SCALES[number]


def read_rounding(field: Callable[[str], int]) -> str:
    """Read how sums are rounded to codes; CoprocessorError: no build does so."""
    number = field("features_rounding")
    if number not in ROUNDINGS:
        known = ", ".join(map(str, ROUNDINGS))
        raise CoprocessorError(f"features_rounding must be one of {known}, not {number}")
    return ROUNDINGS[number]


def read_scratch(field: Callable[[str], int]) -> int:
    """Read the bytes on chip; CoprocessorError: no build has as many."""
    log, width = field("features_scratch"), field("address_width")
    if log and not _PAGE <= log < width:
        raise CoprocessorError(f"features_scratch must be 0, or {_PAGE}..{width - 1}, not {log}")
    return 1 << log if log else 0
