"""Registers of the co-processor, from their SystemRDL source."""
