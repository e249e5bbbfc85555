"""Generators of matrix-multiply hardware, in the order in which an operand meets them.

arith    bit heap and its compression, carry-save numbers, adders, multiplier recodings
pe       one processing element: product on the heap, accumulator
tpe      arrays of processing elements behind the engine contract
catalog  the list of designs; emit turns one of them into Verilog
"""

import warnings

from amaranth.hdl import UnusedElaboratable

# A component is often built only to be asked for its latency or its ports.
warnings.filterwarnings("ignore", category=UnusedElaboratable)
