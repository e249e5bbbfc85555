"""Regressions at any size: benches of drawn designs, mutants, and failures made small."""
