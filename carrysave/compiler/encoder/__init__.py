"""Transformers that encode text: integer jobs from embeddings to vectors of sentences.

``weights`` reads a model, ``tokens`` cuts texts. ``floats`` computes it, and shows what is inside
to a calibration: ``ranges``. ``integers`` chooses steps and rounds weights, ``compile`` lists jobs,
those of ``attention`` too. ``evaluate`` measures them, ``simulate`` takes those for the block.
"""
