"""Golden models of the processing elements."""
