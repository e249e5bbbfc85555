"""Stores of the co-processor: operands, sums, per-column data."""
