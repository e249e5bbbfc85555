"""Routing of a placed netlist: wires on tracks, their check, and what they do to its time."""
