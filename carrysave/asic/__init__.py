"""Synthesis for cell libraries: Yosys, ABC, OpenSTA."""
