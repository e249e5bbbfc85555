"""Programs: what is in memory, the steps, their words and their text."""
