"""Arithmetic: what every design puts on its bit heap, and how the heap becomes a number."""
