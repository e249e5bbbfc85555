"""The data path: operands to the engine, sums to codes, codes to memory or streams."""
