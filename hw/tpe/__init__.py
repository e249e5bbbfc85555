"""Tensor engines: arrays of processing elements."""
