"""Golden models of the tensor engines."""
