"""Windows of a map; on a board, a copy of the golden model's file replaces this one."""

from golden.soc.window import Window

__all__ = ["Window"]
