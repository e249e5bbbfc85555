"""The edges of an array of lanes: ports, formats and scales of tiles, column outputs."""
