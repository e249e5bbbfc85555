"""What goes with a co-processor's Verilog: its register map, and how other tools take it in."""
