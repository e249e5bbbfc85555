"""What is installed: what of it is there, what each command needs, and whether it works."""
