"""Units with number formats: mixed-precision lanes, rounding, activation functions."""
