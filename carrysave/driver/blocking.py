"""How products are cut into blocks; a copy for a board has the planner itself in this place."""

from golden.soc.blocking import Blocks, Part, Stores, order, plan

__all__ = ["Blocks", "Part", "Stores", "order", "plan"]
