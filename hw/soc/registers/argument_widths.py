"""Bits of the arguments of a job that a build keeps in its registers."""

from collections.abc import Mapping

from golden.soc.spec import CoprocessorSpec

__all__ = ["argument_widths"]


def argument_widths(spec: CoprocessorSpec) -> Mapping[str, int]:
    """Return how many bits a build's registers keep of job arguments, if not all.

    The highest kept bit is the OR of all from there up, so that too large values are still refused.
    """
    if not spec.narrow:
        return {}
    groups = spec.group_scales != "none"
    scaled = spec.inside.a_sides > 0 or spec.shares or groups
    of_b = spec.inside.block != 0 or groups
    chooses = spec.top_k > 0
    requantises = spec.requantise and spec.inside.result is None
    distance = spec.distance_width
    addresses = {
        "job_a": True,
        "job_b": True,
        "job_c": True,
        "job_bias": spec.bias or spec.row_factors,
        "job_requant": spec.requantises_columns,
        "job_a_scales": scaled or spec.windows or spec.lists > 0,
        "job_b_scales": of_b or spec.windows or spec.inside.expander.table_bytes > 0,
        "ring": spec.follows_ring,
    }
    widths = {
        "ring_count": 32 if spec.follows_ring else 1,
        **{f"job_{side}": spec.dimension_width + 1 for side in "mnk"},
        **{f"job_ld{matrix}": distance + 1 for matrix in "abc"},
        "job_ldsa": 32 if spec.taps else (distance + 1) * (scaled or spec.windows or chooses),
        "job_ldsb": 32 if spec.taps else (distance + 1) * (of_b or chooses),
        **{f"job_block_{side}": 32 if spec.blocks else 1 for side in "mnk"},
    }
    for name, used in addresses.items():
        widths[f"{name}_lo"] = (spec.address_width + 1) * used
        widths[f"{name}_hi"] = max(spec.address_width - 31, 1) * used
    if spec.windows:
        widths |= {f"job_{side}_scales_{half}": 32 for side in "ab" for half in ("lo", "hi")}
    if not requantises and not (spec.vector is not None and spec.vector.scales):
        unused = ("multiplier", "shift", "zero_point", *["low"] * (not spec.lists), "high")
        widths |= {f"job_{name}": 0 for name in unused}
        widths["job_multiplier"] = 31 * (spec.random_width > 0)
    return widths
