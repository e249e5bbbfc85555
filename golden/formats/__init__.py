"""Number formats: codes and their exact values."""
