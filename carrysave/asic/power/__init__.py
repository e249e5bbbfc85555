"""Power from switching: stimulus, delays, replay of a netlist, energy."""
