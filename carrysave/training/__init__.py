"""Training of small networks in few bits: steps as programs of jobs."""
