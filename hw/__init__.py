"""Generators of matrix-multiply hardware, in the order in which an operand meets them.

arith    bit heap and its compression, carry-save numbers, adders, multiplier recodings
pe       one processing element: product on the heap, accumulator
tpe      arrays of processing elements behind the engine contract
catalog  the list of designs; emit turns one of them into Verilog
"""

import warnings

# A component is often built only to be asked for its latency or its ports. Named by its text, since
# Amaranth takes longer to load than all that is needed to name a design.
warnings.filterwarnings("ignore", message=".* created but never used$")
