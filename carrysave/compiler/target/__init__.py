"""The co-processor that a model is compiled for, and what products cost on it."""
