"""From a design to the files that others use: Verilog, manifest, constraints, FuseSoC core."""
