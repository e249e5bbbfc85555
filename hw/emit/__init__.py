"""A design's output files: Verilog, manifest, constraints, FuseSoC core."""
