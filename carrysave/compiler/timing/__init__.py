"""What jobs take on the co-processor: blocks, cycles, and how products go onto the engine."""
