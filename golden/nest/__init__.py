"""Loop nests over m, n, k and bw, the notation of the bit-weight paper (HPCA 2025).

With radix-4 digits d of A, C[m,n] = sum over k and bw of 4^bw d[m,k,bw] B[k,n]. A design is loops
over these four, each in space or in time, and the steps of the sum at their levels. OPT1 to OPT4
move steps and loops; :mod:`golden.nest.rules` says which nests are legal,
:func:`golden.nest.execute.execute` computes C and counts cycles as a nest says.
"""

from golden.nest.execute import bits, execute
from golden.nest.nest import Nest
from golden.nest.notation import Loop, Step
from golden.nest.shapes import nest_of
from golden.nest.transform import (
    constant_time,
    encode_once,
    opt1,
    opt2,
    opt3,
    opt4c,
    opt4e,
    recoded,
)

__all__ = [
    "Loop",
    "Nest",
    "Step",
    "bits",
    "constant_time",
    "encode_once",
    "execute",
    "nest_of",
    "opt1",
    "opt2",
    "opt3",
    "opt4c",
    "opt4e",
    "recoded",
]
