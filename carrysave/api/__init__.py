"""What ``import carrysave`` offers: designs that act, functions, and results that show themselves.

The command line is a layer over it: its files read options, call, and print.
"""
