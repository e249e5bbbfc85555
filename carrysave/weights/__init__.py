"""Weights of models: tensor files, quantised layers, memory images."""
