"""How results are shown: tables, pictures, loop nests."""
