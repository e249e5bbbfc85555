"""From a quantised network to a program: jobs, and moves of codes between them, in one memory."""
