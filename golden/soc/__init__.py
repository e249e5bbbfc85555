"""Golden models of the matmul co-processor."""
