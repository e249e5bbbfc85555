"""Text encoders: from weights in floats to a program, and vectors of sentences from it."""
