"""What a device has, by names."""

from collections.abc import Callable

from .registers import FIELDS

__all__ = ["read_features"]

_FEATURES = tuple(
    name[9:] for name in FIELDS if name.startswith("features_") and name != "features_rounding"
)
_MORE = tuple(name[14:] for name in FIELDS if name.startswith("more_features_"))
"""Those for which there was no place beside the others."""


def read_features(field: Callable[[str], int]) -> frozenset[str]:
    """Return the features of a device, by names of fields; more than the first, if it has more."""
    features = {name for name in _FEATURES if field(f"features_{name}")}
    if "more" in features:
        features |= {name for name in _MORE if field(f"more_features_{name}")}
    return frozenset(features - {"more"})
