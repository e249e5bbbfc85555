"""Generators of matrix-multiply hardware, in the order of an operand's path.

device   FPGA families: their blocks, and the tools that implement for them
arith    bit heap and its compression, carry-save numbers, adders, multiplier recodings
pe       one processing element: product on the heap, accumulator
tpe      arrays of processing elements, all with the same three streams
npe      units with number formats: mixed-precision lanes, rounding, activation functions
soc      the co-processor: AXI, registers, job scheduling, operand and sum stores
catalog  the list of designs; emit turns one of them into Verilog
"""

import warnings

# A component is often built only to read its latency or its ports. The warning is matched by its
# text, because importing Amaranth takes longer than everything else needed to name a design.
warnings.filterwarnings("ignore", message=".* created but never used$")
