"""Formats for each layer of a network of floats: what each costs, what it spoils, which to take.

``layers`` finds the products and what they multiply on calibration inputs, ``sensitivity`` rounds
one layer at a time to each format, ``choose`` picks under a budget, ``measure`` runs whole networks
with what was picked, ``command`` and ``view`` are ``carrysave precision``.
"""
