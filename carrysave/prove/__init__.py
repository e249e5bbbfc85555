"""Proofs by algebra: sums of products as polynomials, rewritten from the outputs to the inputs."""
