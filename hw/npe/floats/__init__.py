"""Arithmetic of floats: terms, sums, scales, and the pipelines around them."""
