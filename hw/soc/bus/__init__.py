"""AXI: signatures, bursts, read and write masters, bytes to words and back."""
