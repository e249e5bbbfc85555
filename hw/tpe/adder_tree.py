"""Multiplier-adder trees."""

from collections.abc import Mapping
from typing import Any, ClassVar

from golden.check import Parameter
from golden.tpe.adder_tree import AdderTreeSpec
from golden.tpe.rows import RowsEngineSpec
from hw.device import GENERIC
from hw.device.choice import TARGET_BUILD
from hw.lib.evidence import SPARSE
from hw.tpe.broadcast import Broadcast
from hw.tpe.element_choice import element_build
from hw.tpe.rows_engine import is_large_array

__all__ = ["AdderTree"]

_DEEP = 32
"""Products of a tree from which one register more pays, in a large array."""


class AdderTree(Broadcast):
    """Multiplies matrices on multiplier-adder trees of k products each.

    Computes :func:`golden.tpe.adder_tree.adder_tree`, exactly; see :class:`Broadcast`. Large arrays
    of trees of 32 products or more have four pipeline registers if nothing is said, others three.

    Examples
    --------
    >>> tree = AdderTree(AdderTreeSpec(m=1, n=4, k=16))
    >>> tree.i_a.payload.shape()  # a row of 16 codes
    StructLayout({'data': 128, 'last': 1})
    >>> tree.latency, tree.operations_per_cycle
    (6, 128)
    """

    SPEC = AdderTreeSpec
    SUMMARY = "multiplier-adder trees: k products into each of n trees"
    BENCH = "tb_engine"
    EVIDENCE = SPARSE

    BUILD: ClassVar[dict[str, Parameter]] = TARGET_BUILD | element_build(
        "opt1", "opt2", "mac", pipeline=3, more=f"one more in large arrays from k={_DEEP} on"
    )

    @classmethod
    def default_build(cls, spec: RowsEngineSpec, build: Mapping[str, Any]) -> dict[str, Any]:
        """Return the number of pipeline registers of large arrays of deep trees, too."""
        more = super().default_build(spec, build)
        deep = build["target"] == GENERIC and spec.element.k >= _DEEP and is_large_array(spec)
        return more | {"pipeline": cls.BUILD["pipeline"].default + 1} if deep else more
