"""Multiplier-adder trees."""

from golden.tpe.adder_tree import AdderTreeSpec
from hw.tpe.broadcast import Broadcast
from hw.tpe.element import TREE_HOWS

__all__ = ["AdderTree"]


class AdderTree(Broadcast):
    """Multiplies matrices on trees that add up k products each.

    Computes :func:`golden.tpe.adder_tree.adder_tree`, exactly; see :class:`Broadcast`.
    """

    SPEC = AdderTreeSpec
    HOWS = TREE_HOWS
