"""Data for demonstrations and benchmarks."""
