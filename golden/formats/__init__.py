"""Number formats: codes and the exact values that they stand for."""
