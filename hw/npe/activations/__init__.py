"""What the activation functions of rows share."""
