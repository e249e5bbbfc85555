"""Golden models of the arithmetic blocks."""
