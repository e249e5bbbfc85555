"""Facts of a device that programs depend on."""

from dataclasses import asdict
from typing import Any

from carrysave.driver import Info
from carrysave.driver.number import Number

__all__ = ["differences", "facts_of"]


def facts_of(info: Info) -> dict[str, Any]:
    """Return the facts, by name, as JSON has them."""
    names = ("k_max", "dimension_width", "a", "b", "codes", "rounding", "scratch")
    facts: dict[str, Any] = {name: _plain(getattr(info, name)) for name in names}
    facts["sum"] = _plain(info.sums)
    if info.group_scales:
        facts["group_scales"] = info.group_scales
    facts["features"] = ", ".join(sorted(info.features))
    facts |= {
        name: getattr(info.stores, name)
        for name in ("tile_m", "tile_n", "tile_k", "data_width", "sums", "a_bytes", "b_bytes")
    }
    if info.vector is not None:
        unit = asdict(info.vector)
        facts |= {f"vector {name}": _plain(value) for name, value in unit.items()}
    return facts


def differences(ours: dict[str, Any], theirs: dict[str, Any]) -> list[str]:
    """Say which facts of a device are not those that a program needs."""
    return [
        f"{name} {ours.get(name)}, not {theirs.get(name)}"
        for name in dict.fromkeys((*ours, *theirs))
        if ours.get(name) != theirs.get(name)
    ]


def _plain(value: Any) -> Any:
    if isinstance(value, Number):
        return f"{value.low}..{value.high} in {value.bits} bits"
    return ", ".join(value) if isinstance(value, tuple | list) else value
