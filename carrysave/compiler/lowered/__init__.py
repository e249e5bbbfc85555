"""What the block computes of a model, and a model that is made of it."""
