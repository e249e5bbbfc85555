"""A number format for each layer of a float network: cost, noise, choice.

``layers`` finds the products and their operands on calibration inputs, ``sensitivity`` rounds one
layer at a time to each format, ``choose`` picks formats under a budget, ``assess`` runs whole
networks with them, ``command`` and ``view`` are ``carrysave precision``.
"""
