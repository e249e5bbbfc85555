"""How products are cut into blocks; a copy for a board has the planner itself in this place."""

from golden.soc.blocking import Blocks, Stores, plan

__all__ = ["Blocks", "Stores", "plan"]
