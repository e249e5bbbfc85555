"""Numpy models of what the hardware computes, at the same paths and names as in hw."""
