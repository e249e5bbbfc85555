"""Where a design's proof stands: stages, computed by rule from evidence."""
