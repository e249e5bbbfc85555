"""Processing elements."""
