"""Simulation of designs: Verilator through cocotb, benches and matrix products."""
