"""Jobs: checked, cut into blocks and tiles, loaded."""
