"""Golden models of units with number formats."""
