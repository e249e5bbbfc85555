"""Rules of AXI4, AXI4-Lite and AXI4-Stream, as hardware that watches a port."""
