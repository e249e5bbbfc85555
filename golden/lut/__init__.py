"""Lookup in place of multiplication: weights offline, tables, and what the units compute."""
