"""Multiplier-adder trees."""

from golden.tpe.adder_tree import AdderTreeSpec
from hw.tpe.broadcast import Broadcast
from hw.tpe.element_choice import element_hows

__all__ = ["AdderTree"]


class AdderTree(Broadcast):
    """Multiplies matrices on trees that add up k products each.

    Computes :func:`golden.tpe.adder_tree.adder_tree`, exactly; see :class:`Broadcast`.
    """

    SPEC = AdderTreeSpec
    HOWS = element_hows("opt1", "opt2", "mac", encoding="ent", pipeline=2)
