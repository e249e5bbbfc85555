"""Liberty files: text, cells, energies."""
