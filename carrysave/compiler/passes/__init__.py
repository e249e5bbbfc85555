"""Passes over a graph: from operators of the model to those of the block."""
