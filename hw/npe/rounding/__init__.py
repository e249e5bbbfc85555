"""Exact numbers to codes of a format, rounded once."""
