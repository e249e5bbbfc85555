"""Arithmetic: bit heaps, partial products, compression, carry-propagate adders."""
