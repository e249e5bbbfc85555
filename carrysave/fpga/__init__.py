"""FPGAs: mapping, place and route, boards."""
