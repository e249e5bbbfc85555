"""What components share: modules that are placed many times, payloads, a FIFO."""
