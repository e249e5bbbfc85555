"""What the timing of a design depends on: proofs and counterexamples."""
