"""Pictures of a design: its blocks, and the waves of its streams."""
