"""What runs a program: the golden model, and a co-processor behind its driver."""
