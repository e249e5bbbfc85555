"""Test vectors of number formats, for others to check theirs."""
