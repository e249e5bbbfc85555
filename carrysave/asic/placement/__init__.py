"""Placement of a mapped netlist: where its cells are, its wires, repairs, timing with both."""
