"""Decides of mutants that live whether they are faults."""
