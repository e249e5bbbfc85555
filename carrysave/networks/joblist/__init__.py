"""Lists of integer jobs on matrices in memory: products, and operations of the vector unit.

``matrices`` has the memory and the parts of matrices that jobs take, ``jobs`` what a job computes
on the golden model.
"""
