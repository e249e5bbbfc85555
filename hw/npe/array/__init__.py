"""Around an array of lanes: ports, formats and scales of tiles, the way out."""
