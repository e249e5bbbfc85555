"""Presentation of results: tables, pictures, loop nests."""
