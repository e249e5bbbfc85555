"""Memories inside the co-processor: operands, sums, records of columns."""
