"""Boards: the co-processor behind a board's serial bridge, its bitstream, and runs on it."""
