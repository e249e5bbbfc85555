"""Shared by all components: modules placed many times, payloads, a FIFO."""
