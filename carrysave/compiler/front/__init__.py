"""Readers of model files: each checks its file, and consumes every fact in it."""
