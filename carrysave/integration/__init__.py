"""What goes with a co-processor's Verilog, for those who put it into a design."""
