"""Units with number formats."""
