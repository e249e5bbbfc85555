"""What runs inside the simulator: streams, drivers, models of memory, jobs."""
