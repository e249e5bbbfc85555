"""From a model's file to a program, and what runs it.

``front`` reads files, ``graph`` has a model and the meaning of its operators, ``target`` the
co-processor, ``lowered`` what the block computes, ``passes`` leads from the first to the second,
``program`` gives addresses to all, and ``run`` executes. ``encoder`` and ``decoder`` are
transformers for text. Imports go in this order.
"""
