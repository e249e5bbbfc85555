"""Multiplier-adder trees: k products per tree, one tree per element of C."""

from dataclasses import dataclass

from golden.check import Integer, parameter
from golden.tpe.cube import CubeSpec
from golden.tpe.rows import cycles
from golden.tpe.rows import sparse_matmul as adder_tree

__all__ = ["AdderTreeSpec", "adder_tree", "cycles"]


@dataclass(frozen=True, kw_only=True)
class AdderTreeSpec(CubeSpec):
    """One row of C by default: k codes of A go to n trees."""

    m: int = parameter(Integer("rows of C per tile", 1, 1, 64, "rows"))
    n: int = parameter(Integer("trees: columns of C per tile", 4, 1, 64, "columns"))
    k: int = parameter(Integer("products per tree", 16, 1, 64, "codes"))
