"""The co-processor that a model is compiled for."""
