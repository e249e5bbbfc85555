`define OPERANDS 16
`define SUMS 40
