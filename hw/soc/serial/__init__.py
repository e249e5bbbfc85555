"""A serial line instead of AXI ports."""
