"""Multiplier-adder trees."""

from golden.tpe.adder_tree import AdderTreeSpec
from hw.device.choice import TARGET_HOWS
from hw.lib.evidence import ENGINE
from hw.tpe.broadcast import Broadcast
from hw.tpe.element_choice import element_hows

__all__ = ["AdderTree"]


class AdderTree(Broadcast):
    """Multiplies matrices on multiplier-adder trees of k products each.

    Computes :func:`golden.tpe.adder_tree.adder_tree`, exactly; see :class:`Broadcast`.
    """

    SPEC = AdderTreeSpec
    SUMMARY = "multiplier-adder trees: k products into each of n trees"
    BENCH = "tb_engine"
    EVIDENCE = ENGINE

    SPEC = AdderTreeSpec
    HOWS = TARGET_HOWS | element_hows("opt1", "opt2", "mac", pipeline=3)
