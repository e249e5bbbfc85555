"""Search of designs and parameters for several objectives at once."""
