"""The environment in which the co-processor is verified: agents, twin, scoreboard, coverage."""
