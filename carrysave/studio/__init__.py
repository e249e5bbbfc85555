"""A local page on which one chooses a design, sets its parameters, and sees what it is."""
