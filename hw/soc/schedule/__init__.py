"""Jobs: checks, block and tile order, loading."""
