"""Lookup instead of multiplication: offline weights, tables, and the units' computations."""
