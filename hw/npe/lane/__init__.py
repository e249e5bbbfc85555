"""Inside a lane: decoders, multiplier, exact sum."""
