"""What a host says to a co-processor over a serial line."""
