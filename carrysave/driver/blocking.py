"""The block planner; on a board, a copy of the planner replaces this file."""

from golden.soc.blocking import Blocks, Part, Stores, candidates, costs, order, plan

__all__ = ["Blocks", "Part", "Stores", "candidates", "costs", "order", "plan"]
