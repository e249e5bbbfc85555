"""The path of data: operands to the engine, sums to codes, codes to memory or streams."""
