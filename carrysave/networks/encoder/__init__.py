"""Transformers that encode text: integer jobs from embeddings to vectors of sentences.

``weights`` reads a model, ``floats`` computes it, and shows what is inside
to a calibration: ``ranges``. ``integers`` chooses steps and rounds weights, ``compile`` lists jobs.
"""
