"""Code that runs inside the simulator: streams, drivers, memory models, jobs."""
