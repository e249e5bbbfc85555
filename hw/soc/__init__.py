"""The matmul co-processor: registers, memory access, tiling."""
