"""Generated pages of the documentation: designs, formats, registers, commands, from the code."""
