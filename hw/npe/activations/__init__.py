"""Shared parts of the activation functions: row memory, exponential, division."""
