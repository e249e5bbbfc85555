"""Models as graphs, and what each of their operators computes on codes."""
