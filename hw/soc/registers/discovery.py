"""What discovery registers say of the vector unit, and of what a build has beside others."""

from collections.abc import Mapping

from golden.npe.vector import VectorUnitSpec
from golden.soc.spec import CoprocessorSpec
from hw.soc.registers.rdl import codes_of, vector_numbers

__all__ = ["codebook_number", "more_features", "of_vector"]


def more_features(spec: CoprocessorSpec) -> int:
    """Return the value of the register of that name."""
    groups = codes_of("more_features_group_scales")[spec.group_scales]
    mirrored = spec.inside.expander.mirrored
    some = spec.sparse | spec.shares << 1 | groups << 2 | mirrored << 4
    some |= spec.random_width << 5 | spec.top_k << 10
    return some | spec.lists << 16 | spec.amax << 31


def codebook_number(spec: CoprocessorSpec) -> int:
    """Return the number of the kind of B's codes; of a mirrored table that of a whole one."""
    book = spec.inside.expander
    name = f"job{book.entries}" if book.mirrored else book.name
    return codes_of("features_codebook").get(name, 0)


def of_vector(spec: CoprocessorSpec, unit: VectorUnitSpec) -> Mapping[str, int]:
    """Return the values of the discovery registers of a vector unit."""
    fields = (unit.width, 0), (unit.out_width, 8), (unit.scale_width, 16), (unit.norm_fraction, 20)
    return {
        "vector": sum({1 << vector_numbers()[name] >> 1 for name in spec.vector_jobs}),
        "vector_format": sum(value << low for value, low in fields)
        | unit.signed << 24
        | unit.lanes * (unit.scales or spec.taps > 0) << 25,
        "vector_length": unit.length,
    }
